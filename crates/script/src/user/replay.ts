// `user.replay(…)`: sends the recorded request of this arrival.

function replay(this: any, options: any = {}) {
  const { method, target, headers, body } = this.recordedRequest();
  const own = options.headers === undefined ? headers : Object.assign(headers, options.headers);
  const sent = Object.assign({}, options, { headers: own });
  if (body !== null && options.body === undefined) sent.body = body;
  return this.request(method, target, sent);
}

Object.defineProperty(__loadstone.userPrototype, "replay", { value: replay, writable: true, configurable: true });
