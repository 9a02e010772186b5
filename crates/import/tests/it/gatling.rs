//! What Gatling's recorder writes, in each of its languages.

use loadstone_import::{Choices, Format, Input, NoteKind};

use crate::{import, written};

/// One request in each language, with the same meaning.
const LANGUAGES: [(&str, &str); 4] = [
    (
        "Scala",
        "class RecordedSimulation extends Simulation {\n  private val httpProtocol = http\n    .baseUrl(\"http://a.test\")\n  private val headers_0 = \
         Map(\n    \"X-One\" -> \"1\", \"X-Two\" -> \"\"\"say \"two\"\"\"\"\n  )\n  private val uri1 = \"a.test\"\n  private val scn = \
         scenario(\"Recorded\")\n    \
         .exec(\n      http(\"request_0\")\n        .get(\"http://\" + uri1 + \"/loaves\")\n        .headers(headers_0)\n    )\n    .pause(2)\n    \
         .exec(http(\"Order\").post(\"/orders\").body(StringBody(\"\"\"{\"n\": \
         1}\"\"\")).asJson)\n\tsetUp(scn.inject(atOnceUsers(1))).protocols(httpProtocol)\n}\n",
    ),
    (
        "Java",
        "public class RecordedSimulation extends Simulation {\n  private HttpProtocolBuilder httpProtocol = http\n    .baseUrl(\"http://a.test\");\n  private \
         Map<CharSequence, String> headers_0 = Map.ofEntries(\n    Map.entry(\"X-One\", \"1\"),\n    Map.entry(\"X-Two\", \"say \\\"two\\\"\")\n  \
         );\n  private \
         String uri1 = \"a.test\";\n  private ScenarioBuilder scn = scenario(\"Recorded\")\n    .exec(\n      http(\"request_0\")\n        .get(\"http://\" + \
         uri1 + \"/loaves\")\n        .headers(headers_0),\n      pause(Duration.ofSeconds(2)),\n      http(\"Order\").post(\"/orders\")\
         .body(StringBody(\"{\\\"n\\\": 1}\")).asJson()\n    );\n  {\n    setUp(scn.injectOpen(atOnceUsers(1))).protocols(httpProtocol);\n  }\n}\n",
    ),
    (
        "Kotlin",
        "class RecordedSimulation : Simulation() {\n  private val httpProtocol = http\n    .baseUrl(\"http://a.test\")\n  private val headers_0: Map<String, \
         String> = mapOf(\n    \"X-One\" to \"1\",\n    \"X-Two\" to \"say \\\"two\\\"\"\n  )\n  private val uri1 = \"a.test\"\n  private val scn = \
         scenario(\"Recorded\")\n    .exec(\n      http(\"request_0\")\n        .get(\"http://\" + uri1 + \"/loaves\")\n        .headers(headers_0),\n      \
         pause(2),\n      http(\"Order\").post(\"/orders\").body(StringBody(\"\"\"{\"n\": 1}\"\"\")).asJson()\n    )\n  init {\n    \
         setUp(scn.injectOpen(atOnceUsers(1))).protocols(httpProtocol)\n  }\n}\n",
    ),
    (
        "JavaScript",
        "export default simulation((setUp) => {\n  const httpProtocol = http.baseUrl(\"http://a.test\");\n  const headers_0 = {\n    \"X-One\": \"1\",\n    \
         \"X-Two\": 'say \"two\"'\n  };\n  const uri1 = \"a.test\";\n  const scn = scenario(\"Recorded\").exec(\n    http(\"request_0\")\n      \
         .get(\"http://\" + \
         uri1 + \"/loaves\")\n      .headers(headers_0),\n    pause({ amount: 2, unit: \"seconds\" }),\n    http(\"Order\").post(\"/orders\")\
         .body(StringBody('{\"n\": 1}')).asJson()\n  );\n  setUp(scn.injectOpen(atOnceUsers(1))).protocols(httpProtocol);\n});\n",
    ),
];

#[test]
fn each_language_says_the_same() {
    for (language, text) in LANGUAGES {
        let imported = import(Format::GatlingRecorder, text).unwrap_or_else(|error| panic!("{language}: {error}"));
        assert_eq!(imported.notes, [], "{language}");
        for part in [
            "param.url(\"base\", { default: \"http://a.test\"",
            "await user.get(\"/loaves\", { name: \"Get loaves\", headers: { \"x-one\": \"1\", \"x-two\": \"say \\\"two\\\"\" } });",
            "await user.pause(\"2s\");",
            "await user.post(\"/orders\", { name: \"Order\", json: { n: 1 } });",
            "scenario(\"Recorded\"",
        ] {
            assert!(imported.text.contains(part), "{language}: {part}\n{}", imported.text);
        }
    }
}

/// A Scala simulation that executes this.
fn simulation(chain: &str) -> String {
    format!(
        "class R extends Simulation {{\n  val p = http.baseUrl(\"http://a.test\")\n  val s = scenario(\"R\")\n{chain}\n  \
         setUp(s.inject(atOnceUsers(1))).protocols(p)\n}}\n"
    )
}

#[test]
fn requests_keep_what_they_carry() {
    for (gatling, here) in [
        (".exec(http(\"A\").get(\"/a\").queryParam(\"q\", \"x y\"))", "user.get(\"/a?q=x+y\", { name: \"A\" });"),
        (".exec(http(\"A\").httpRequest(\"PURGE\", \"/a\"))", "user.request(\"PURGE\", \"/a\", { name: \"A\" });"),
        (".exec(http(\"A\").post(\"/a\").formParam(\"x\", \"1\").formParam(\"x\", \"2\"))", "form: { x: [\"1\", \"2\"] }"),
        (".exec(http(\"A\").get(\"/a\").check(status.is(404)))", "expect: { status: 404 }"),
        (".exec(http(\"A\").get(\"/a\").basicAuth(\"ann\", \"pw\"))", "auth: { username: username, password: password }"),
        (".exec(http(\"A\").get(\"/a\").header(\"X-K\", \"v\"))", "headers: { \"x-k\": \"v\" }"),
        (
            ".exec(http(\"A\").get(\"/a\").check(jsonPath(\"$.id\").saveAs(\"id\"))).exec(http(\"B\").get(\"/b/#{id}\"))",
            "user.state.id = response.json(\"$.id\");",
        ),
        (
            ".exec(http(\"A\").get(\"/a\").check(regex(\"id=(.*?)&\").saveAs(\"id\"))).exec(http(\"B\").get(\"/b/${id}\"))",
            "user.get(`/b/${user.state.id}`, { name: \"B\" });",
        ),
        (".exec(http(\"A\").get(\"/a.css\"))", "[\n        \"/a.css\",\n      ]"),
        (".exec(http(\"A\").get(\"/a\")).pause(500.milliseconds).exec(http(\"B\").get(\"/b\"))", "await user.pause(\"500ms\");"),
    ] {
        let text = written(Format::GatlingRecorder, &simulation(gatling));
        assert!(text.contains(here), "{gatling}\n{here}\n{text}");
    }
}

#[test]
fn code_that_no_recorder_writes_is_reported_with_its_line() {
    for (gatling, reason) in [
        (".repeat(3) { exec(http(\"A\").get(\"/a\")) }", "a recording does not contain `repeat`"),
        (".exec { session => session.set(\"a\", 1) }", "a function of the simulation's language"),
        (".exec(http(\"A\").get(session => \"/a\"))", "computed at run time"),
        (".exec(http(\"A\").post(\"/a\").body(RawFileBody(\"r/0001_request.json\")))", "r/0001_request.json was not found"),
        (".exec(http(\"A\").get(\"/a\").check(status.in(200 to 210)))", "expect: { status: [200, 201] }"),
        (".exec(http(\"A\").get(\"http://b.test/a\"))", "--all-hosts"),
    ] {
        let text = simulation(&format!(".exec(http(\"First\").get(\"/first\"))\n{gatling}"));
        let imported = import(Format::GatlingRecorder, &text).unwrap();
        let note = imported.notes.iter().find(|note| note.text.contains(reason) && note.kind != NoteKind::Changed);
        let note = note.unwrap_or_else(|| panic!("{gatling}\n{:?}\n{}", imported.notes, imported.text));
        assert!(note.line.is_none_or(|line| line == 5), "{note:?}");
        assert!(imported.text.contains("/first"), "{}", imported.text);
    }
}

#[test]
fn a_simulation_of_which_nothing_is_left_says_why() {
    let error = import(Format::GatlingRecorder, &simulation(".repeat(3) { exec(http(\"A\").get(\"/a\")) }")).unwrap_err().to_string();
    assert!(error.contains("source:4") && error.contains("a recording does not contain `repeat`"), "{error}");
    let two = simulation(".exec(http(\"A\").get(\"/a\"))")
        .replace("setUp(", "val t = scenario(\"T\").exec(http(\"B\").get(\"/b\"))\n  setUp(t.inject(x), ");
    let imported = import(Format::GatlingRecorder, &two).unwrap();
    assert!(imported.notes.iter().any(|note| note.text == "scenario \"R\": only the first scenario is imported"), "{:?}", imported.notes);
}

#[test]
fn no_text_stops_the_reader() {
    let whole = simulation(".exec(http(\"A\").post(\"/a\").headers(Map(\"a\" -> \"b\")).body(StringBody(\"\"\"x\"\"\")))");
    let choices = Choices { pauses: true, assets: true, all_hosts: false };
    for end in (0..whole.len()).filter(|&end| whole.is_char_boundary(end)) {
        let input = Input { name: "part", text: &whole[..end], folder: "", read: &|_| None, choices };
        let _an_error_or_a_test = loadstone_import::import(Format::GatlingRecorder, &input);
    }
    let deep = simulation(&format!(".exec({}", "f(".repeat(100_000)));
    assert!(import(Format::GatlingRecorder, &deep).is_err());
}
