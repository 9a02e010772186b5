//! What a script sends: JSON, forms, uploads, templates, bytes, and signatures over them.

use crate::harness::{Folder, once, server};

#[test]
fn json_and_form_bodies_name_their_type() {
    once(
        server::httpbin(),
        r#"const json = await user.post("/post", { json: { a: [1, "zwei", null], é: true } });
           user.check("JSON", JSON.stringify(json.json("$.json")) === JSON.stringify({ a: [1, "zwei", null], é: true }));
           user.check("its type", json.json("$.headers['Content-Type'][0]") === "application/json");
           const form = await user.post("/post", { form: { name: "Ann & Bob", tag: ["x", "y"] } });
           user.check("form", form.json("$.form.name[0]") === "Ann & Bob" && form.json("$.form.tag").join() === "x,y");
           const text = await user.put("/put", { body: "plain", headers: { "content-type": "text/plain" } });
           user.check("text", text.json("$.data") === "plain");
           const bytes = await user.post("/post", { body: new Uint8Array([0, 1, 254, 255]) });
           user.check("bytes", bytes.json("$.headers['Content-Length'][0]") === "4");"#,
    )
    .all_checks_held();
}

#[test]
fn files_and_templates_are_relative_to_the_script() {
    let script = format!(
        r#"import {{ test, scenario, once, file, template }} from "loadstone";
const only = scenario("Only", async (user) => {{
  const upload = await user.post("/post", {{ multipart: {{ title: "Sunset", photo: file("data/photo.txt") }} }});
  user.check("field", upload.json("$.form.title[0]") === "Sunset");
  user.check("file", upload.json("$.files.photo[0]") === "pixels\n");
  const filled = template("data/order.json", {{ product: 7, note: 'a "quoted" word' }});
  const order = await user.post("/post", {{ body: filled, headers: {{ "content-type": "application/json" }} }});
  user.check("template", order.json("$.json.product") === 7 && order.json("$.json.note") === 'a "quoted" word');
  const raw = await user.post("/post", {{ body: file("data/photo.txt") }});
  user.check("a file as the body", raw.json("$.data").startsWith("pixels") || raw.json("$.headers['Content-Length'][0]") === "7");
}});
export default test({{ target: "{}", load: only.run(once()) }});
"#,
        server::httpbin()
    );
    let folder = Folder::new().file("tests/upload.load.ts", &script).file("tests/data/photo.txt", "pixels\n");
    let folder = folder.file("tests/data/order.json", r#"{ "product": {{product}}, "note": {{note|json}} }"#);
    let mut ended = folder.run(&["run", "tests/upload.load.ts"]);
    ended.checks_written = 4;
    ended.all_checks_held();
}

#[test]
fn signatures_agree_with_known_answers() {
    // RFC 4231, test case 2; FIPS 180-4 example; RFC 4648, section 10.
    once(
        server::httpbin(),
        r#"const { hash, hmac, base64, base64url, hex } = loadstone;
           user.check("HMAC-SHA-256", hmac("sha256", "Jefe", "what do ya want for nothing?")
             === "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
           user.check("SHA-256", hash("sha256", "abc") === "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
           user.check("SHA-1", hash("sha1", "abc") === "a9993e364706816aba3e25717850c26c9cd0d89d");
           user.check("base64", base64.encode("foob") === "Zm9vYg==" && base64.decodeText("Zm9vYmE=") === "fooba");
           user.check("base64 for URLs", base64url.encode(new Uint8Array([251, 255])) === "-_8");
           user.check("hexadecimal", hex.encode("foo") === "666f6f");
           user.check("encoder", new TextEncoder().encode("é").length === 2);
           user.check("URL", new URL("/a?b=1#c", "http://h:81/x").href === "http://h:81/a?b=1#c");"#,
    )
    .all_checks_held();
}

#[test]
fn a_script_may_import_files_data_and_packages() {
    let script = format!(
        r#"import {{ test, scenario, once }} from "loadstone";
import {{ path }} from "./lib/path";
import settings from "./settings.json";
import {{ shout }} from "shouter";
const only = scenario("Only", async (user) => {{
  const r = await user.get(path("get"), {{ query: {{ who: shout(settings.name) }} }});
  user.check("all three", r.json("$.args.who[0]") === "ANN!");
}});
export default test({{ target: "{}", load: only.run(once()) }});
"#,
        server::httpbin()
    );
    let folder = Folder::new()
        .file("a.load.ts", &script)
        .file("lib/path.ts", "export const path = (name: string): string => `/${name}`;\n")
        .file("settings.json", r#"{ "name": "ann" }"#)
        .file(
            "node_modules/shouter/package.json",
            r#"{ "name": "shouter", "version": "1.0.0", "type": "module", "exports": "./index.js" }"#,
        )
        .file("node_modules/shouter/index.js", "export const shout = (text) => `${text.toUpperCase()}!`;\n");
    let mut ended = folder.run(&["run", "a.load.ts"]);
    ended.checks_written = 1;
    ended.all_checks_held();
}
