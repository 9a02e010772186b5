// A visitor of a static site on nginx: a page, then its assets in parallel.
//
//   node examples/nginx/start.mjs                     (in another terminal)
//   loadstone run examples/files.load.ts -p visitors=50

import { failures, param, responseTime, scenario, test, users } from "loadstone";

const target = param.url("target", { default: "http://127.0.0.1:8081", help: "where nginx listens" });
const visitors = param.number("visitors", { default: 20, min: 1, help: "visitors at the same time" });
const runTime = param.duration("runTime", { default: "20s" });

const visit = scenario("Visit", async (user) => {
  const page = await user.get("/", { name: "Page", expect: { text: "Loadstone" } });
  await user.group("Assets", (user) =>
    Promise.all([
      user.get(page.css("link[rel=stylesheet]", { attribute: "href" }), { name: "Style", expect: { header: { "content-type": /css/ } } }),
      user.get("/data.json", { name: "Data", expect: { json: { "$.items[0].name": "lodestone" } } }),
    ]),
  );
  await user.pause("uniform(50ms, 150ms)");
});

export default test({
  target,
  load: visit.run(users(visitors).for(runTime)),
  thresholds: [failures().count.equals(0), responseTime("Page").p99.below("100ms")],
});
