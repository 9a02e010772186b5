// Every form of import that runs must type-check under the tsconfig of `loadstone init`, and so must deeply nested values from documents.
import { json, once, scenario, test } from "loadstone";
import { first } from "./parts.ts";
import { first as again } from "./parts";
import { second } from "./plain.js";
import third from "./data.json";
import fourth from "./data.json" with { type: "json" };

const tokens = json("data.json", "$.deep.list").random();

const s = scenario("S", async (user) => {
  const login = await user.post("/login", { json: { name: first, again, second, third: third.deep.list[0], fourth: fourth.deep } });
  const { access, scopes } = login.json("$.tokens");
  const token: string = login.json("$.tokens.access.value");
  await user.get("/", { auth: { bearer: token }, headers: { "x-scopes": scopes.join(","), "x-access": access.value, "x-token": String(tokens.next()) } });
});

export default test({ load: s.run(once()) });
