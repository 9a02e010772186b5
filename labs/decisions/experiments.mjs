// The experiments: fetched every now and then from the service that owns them, and believed for a minute.
//
// A request that finds them too old waits for the next fetch. Each is a new connection, as the owner closes idle ones: so each looks its host up.

import { setTimeout as pause } from "node:timers/promises";

const BELIEVED_MS = 60_000;
const RETRY_MS = 500;

export class Experiments {
  #url;
  #refreshMs;
  #list = [];
  #expires = 0;
  #fresh;

  constructor(url, refreshMs) {
    this.#url = url;
    this.#refreshMs = refreshMs;
    this.#next();
    void this.#keepFresh();
  }

  /** The experiments; at once, as long as they are believed. */
  async current() {
    while (performance.now() > this.#expires) await this.#fresh.promise;
    return this.#list;
  }

  async #keepFresh() {
    for (;;) {
      try {
        const response = await fetch(this.#url, { headers: { connection: "close" } });
        this.#list = (await response.json()).experiments;
        this.#expires = performance.now() + BELIEVED_MS;
        const { resolve } = this.#fresh;
        this.#next();
        resolve();
        await pause(this.#refreshMs);
      } catch {
        // The owner, or its name, cannot be had at the moment.
        await pause(RETRY_MS);
      }
    }
  }

  #next() {
    this.#fresh = {};
    this.#fresh.promise = new Promise((resolve) => (this.#fresh.resolve = resolve));
  }
}
