// Tests and checks that several attacks share. `port`, `second` and `free` are declared in front of each test.

export const once = (line) => `const s = scenario("S", async (user) => { ${line} });
export default test({ target: "http://127.0.0.1:" + port, load: s.run(iterations(1)), options: { requestTimeout: "3s" } });`;
export const forThreeSeconds = (line) => `const s = scenario("S", async (user) => { ${line} });
export default test({ target: "http://127.0.0.1:" + port, load: s.run(users(1).for("3s").gracefulStop("2s")), options: { requestTimeout: "3s" } });`;
export const observed = (observer) => `const s = scenario("S", async (user) => { await user.get("/", { name: "R" }); });
export default test({ target: "http://127.0.0.1:" + second, load: s.run(arrivals(10).for("5s")), observe: [${observer}] });`;

export const FAILED = [3, 4];
export const SECRETS = ["LITERALSECRET66", "BEARERLITERAL77", "QUERYTOKEN88", "KEYHEADER99", "COOKIEVALUE00", "JSONPASSWORD90", "FORMPASSWORD91", "SETCOOKIE92", "BODYTOKEN93"];
export const spell = (secret) => [secret, Buffer.from(secret).toString("base64").replace(/=+$/, "")];
export const clean = (text) => (/[\x00-\x08\x0b-\x1f\x7f\x80-\x9f\u202e\ufffe]/.test(text.replace(/\x1b\[[\d;]*m/g, "")) ? "control characters in the output" : undefined);

/** What terminals and parsers interpret. */
export const ESCAPES = "\x1b]52;c;ZXZpbA==\x07\x1b[2J\x1b]0;title\x07\x9b31m \u202eabc ]]> </script> \ufffe";
