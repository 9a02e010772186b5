// The three calls of Amazon SQS that the lab makes, in its JSON protocol. Requests are not signed: ElasticMQ does not ask for it.

/** A queue by its address. */
export function openQueue(url) {
  const call = async (action, parameters) => {
    const response = await fetch(new URL(url).origin, {
      method: "POST",
      headers: { "content-type": "application/x-amz-json-1.0", "x-amz-target": `AmazonSQS.${action}` },
      body: JSON.stringify({ QueueUrl: url, ...parameters }),
    });
    if (!response.ok) throw new Error(`${action}: the queue returned ${response.status} ${await response.text()}`);
    return response.json();
  };
  return {
    send: (event) => call("SendMessage", { MessageBody: JSON.stringify(event) }),
    /** At most 10 messages, or none after 5 s: `{ Body, ReceiptHandle }`. */
    async receive() {
      const { Messages = [] } = await call("ReceiveMessage", { MaxNumberOfMessages: 10, WaitTimeSeconds: 5 });
      return Messages;
    },
    remove: (messages) =>
      call("DeleteMessageBatch", { Entries: messages.map(({ ReceiptHandle }, index) => ({ Id: `${index}`, ReceiptHandle })) }),
  };
}
