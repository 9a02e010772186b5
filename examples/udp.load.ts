// Queries a DNS server over UDP. Each question has a number that identifies its answer. A lost question or answer exceeds its time limit.
//
//   loadstone run examples/udp.load.ts -p server=127.0.0.1:5353 -p name=shop.test

import { arrivals, failures, param, responseTime, scenario, test } from "loadstone";

const server = param.string("server", { default: "127.0.0.1:53", help: "host:port of the DNS server" });
const name = param.string("name", { default: "localhost", help: "the name to look up" });
const perSecond = param.number("perSecond", { default: 200, min: 1 });
const runTime = param.duration("runTime", { default: "30s" });

/** A question for the IPv4 addresses of the name (RFC 1035, section 4). */
function question(number: number): Uint8Array {
  const labels = name.split(".").flatMap((label) => [label.length, ...new TextEncoder().encode(label)]);
  return new Uint8Array([number >> 8, number & 255, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, ...labels, 0, 0, 1, 0, 1]);
}

const lookUp = scenario("Look up", async (user) => {
  const socket = await user.udp(server);
  const number = user.random.integer(0, 65_535);
  const answer = await socket.request(question(number), {
    name: "Look up",
    within: "1s",
    match: ({ bytes }) => bytes.length > 7 && ((bytes[0] ?? 0) << 8 | (bytes[1] ?? 0)) === number,
  });
  if (answer.ok) user.check("it is known", ((answer.bytes[3] ?? 0) & 15) === 0 && (answer.bytes[7] ?? 0) > 0);
});

export default test({
  load: lookUp.run(arrivals(perSecond).for(runTime)),
  thresholds: [responseTime("Look up").p99.below("20ms"), failures().rate.below("1%")],
});
