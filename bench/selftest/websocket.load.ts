// Users that repeatedly send a message and wait for its answer.

import { param, scenario, test, users } from "loadstone";

const target = param.url("target");
const length = param.duration("length", { default: "5s" });

const talk = scenario("Talk", async (user) => {
  const socket = await user.ws("/", { name: "Connect" });
  for (let turn = 0; turn < 100; turn += 1) {
    await socket.request(`turn ${turn}`, { name: "Turn" });
    await user.pause("20ms");
  }
  await socket.close();
});

export default test({ target, load: talk.run(users(20).for(length)) });
