//! Test plans of JMeter. That a plan sends what JMeter 5.6.3 sends is tested with the binary.

use loadstone_import::{Format, NoteKind};

use crate::import;

/// A plan with one thread group and these elements in it.
fn plan(group: &str, elements: &str) -> String {
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?><jmeterTestPlan version="1.2" properties="5.0" jmeter="5.6.3"><hashTree>
        <TestPlan testname="Plan"/><hashTree>{group}<hashTree>{elements}</hashTree></hashTree></hashTree></jmeterTestPlan>"#
    )
}

fn threads(properties: &str, loops: &str) -> String {
    format!(
        r#"<ThreadGroup testname="Clients"><elementProp name="ThreadGroup.main_controller" elementType="LoopController">
        <stringProp name="LoopController.loops">{loops}</stringProp><boolProp name="LoopController.continue_forever">false</boolProp>
        </elementProp>{properties}</ThreadGroup>"#
    )
}

fn number(name: &str, value: &str) -> String {
    format!("<stringProp name=\"{name}\">{value}</stringProp>")
}

const GET: &str = r#"<HTTPSamplerProxy testname="Home"><stringProp name="HTTPSampler.domain">a.test</stringProp>
    <stringProp name="HTTPSampler.path">/home</stringProp><stringProp name="HTTPSampler.method">GET</stringProp></HTTPSamplerProxy><hashTree/>"#;

#[track_caller]
fn complete(plan: &str) -> String {
    let imported = import(Format::Jmeter, plan).unwrap_or_else(|error| panic!("{error}"));
    assert!(imported.is_complete(), "{:?}\n{}", imported.notes, imported.text);
    imported.text
}

#[test]
fn thread_groups_become_the_load_that_they_describe() {
    let of = |threads: &str, ramp: &str, more: &str| {
        format!("{}{}{more}", number("ThreadGroup.num_threads", threads), number("ThreadGroup.ramp_time", ramp))
    };
    let lasting =
        |duration: &str| format!("<boolProp name=\"ThreadGroup.scheduler\">true</boolProp>{}", number("ThreadGroup.duration", duration));
    for (properties, loops, load) in [
        (of("1", "1", ""), "5", "clients.run(iterations(5))"),
        (of("20", "0", ""), "5", "clients.run(iterations(5).users(20).perUser())"),
        (of("20", "10", ""), "1", "clients.run(arrivals(20 / 10).for(\"10s\"))"),
        (of("20", "0", &lasting("60")), "-1", "clients.run(users(20).for(\"1m\"))"),
        (of("20", "10", &lasting("60")), "-1", "clients.run(users.ramp(1, 20).for(\"10s\").then(users(20).for(\"50s\")))"),
        (of("20", "60", &lasting("30")), "-1", "clients.run(users.ramp(1, 10).for(\"30s\"))"),
        (of("${__P(threads,7)}", "0", &lasting("${__P(length,9)}")), "-1", "clients.run(users(threads).for(`${length}s`))"),
    ] {
        let text = complete(&plan(&threads(&properties, loops), GET));
        assert!(text.contains(load), "{load}\n{text}");
    }
    let looped = complete(&plan(&threads(&of("20", "10", ""), "3"), GET));
    assert!(looped.contains("for (let iteration = 0; iteration < 3; iteration++) {"), "{looped}");
}

#[test]
fn assertions_and_timers_are_translated() {
    let children = r#"<ResponseAssertion testname="Code"><collectionProp name="Asserion.test_strings"><stringProp name="0">404</stringProp></collectionProp>
        <stringProp name="Assertion.test_field">Assertion.response_code</stringProp><boolProp name="Assertion.assume_success">true</boolProp>
        <intProp name="Assertion.test_type">8</intProp></ResponseAssertion><hashTree/>
        <ResponseAssertion testname="No error"><collectionProp name="Asserion.test_strings"><stringProp name="0">a+b</stringProp></collectionProp>
        <stringProp name="Assertion.test_field">Assertion.response_data</stringProp><intProp name="Assertion.test_type">20</intProp>
        </ResponseAssertion><hashTree/>
        <DurationAssertion testname="Fast"><stringProp name="DurationAssertion.duration">1500</stringProp></DurationAssertion><hashTree/>
        <UniformRandomTimer testname="T"><stringProp name="ConstantTimer.delay">100</stringProp><stringProp name="RandomTimer.range">200.0</stringProp>
        </UniformRandomTimer><hashTree/>
        <ConstantThroughputTimer testname="C"><intProp name="calcMode">1</intProp><doubleProp><name>throughput</name><value>120.0</value></doubleProp>
        <stringProp name="throughput">120.0</stringProp></ConstantThroughputTimer><hashTree/>"#;
    let sampler = GET.replace("<hashTree/>", &format!("<hashTree>{children}</hashTree>"));
    let text = complete(&plan(&threads(&number("ThreadGroup.num_threads", "2"), "1"), &sampler));
    for part in [
        "status: 404",
        "text: new RegExp(\"^(?![\\\\s\\\\S]*(?:a\\\\+b))\")",
        "within: \"1500ms\"",
        "await user.pause(\"uniform(100ms, 300ms)\");",
        "await paced(user, 2 * 60_000 / 120);",
        "cookies: false",
        "redirects: 0",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn a_throughput_shaping_timer_is_open_load() {
    let timer = r#"<kg.apc.jmeter.timers.VariableThroughputTimer testname="Shape"><collectionProp name="load_profile">
        <collectionProp name="1"><stringProp name="a">1</stringProp><stringProp name="b">10</stringProp><stringProp name="c">60</stringProp></collectionProp>
        <collectionProp name="2"><stringProp name="a">10</stringProp><stringProp name="b">10</stringProp><stringProp name="c">120</stringProp></collectionProp>
        </collectionProp></kg.apc.jmeter.timers.VariableThroughputTimer><hashTree/>"#;
    let group = threads(&format!("{}{}", number("ThreadGroup.num_threads", "50"), number("ThreadGroup.ramp_time", "0")), "3");
    let text = complete(&plan(&group, &format!("{timer}{GET}{GET}")));
    assert!(text.contains("arrivals.ramp(1 / 2, 10 / 2).for(\"1m\").then(arrivals(10 / 2).for(\"2m\")).maxUsers(50)"), "{text}");
}

#[test]
fn what_is_not_translated_is_named_with_its_place() {
    for (element, message) in [
        ("<JSR223Sampler testname=\"Script\"/><hashTree/>", "Plan > Clients > Script: JSR223Sampler \"Script\""),
        ("<JDBCSampler testname=\"Query\"/><hashTree/>", "Plan > Clients > Query: JDBCSampler \"Query\""),
        ("<SwitchController testname=\"S\"/><hashTree><HTTPSamplerProxy testname=\"x\"/><hashTree/></hashTree>", "\"S\", with 1 samplers"),
        (
            "<IfController testname=\"I\"><stringProp name=\"IfController.condition\">${__groovy(foo())}</stringProp></IfController><hashTree/>",
            "script",
        ),
        ("<PoissonRandomTimer testname=\"P\"/><hashTree/>", "the timer \"P\""),
    ] {
        let group = threads(&number("ThreadGroup.num_threads", "1"), "1");
        let imported = import(Format::Jmeter, &plan(&group, &format!("{element}{GET}"))).unwrap();
        let lost = imported.notes.iter().find(|note| note.kind == NoteKind::Lost);
        assert!(lost.is_some_and(|note| note.text.contains(message)), "{message}\n{:?}", imported.notes);
        assert!(imported.text.contains("// Not translated") && imported.text.contains("/home"), "{}", imported.text);
    }
    // Elements that are switched off are not part of the plan.
    let off = "<JSR223Sampler testname=\"Script\" enabled=\"false\"/><hashTree/>";
    complete(&plan(&threads(&number("ThreadGroup.num_threads", "1"), "1"), &format!("{off}{GET}")));
    for (text, message) in [("<a/>", "not a test plan"), ("<a>", "not closed"), ("", "no element"), (&plan("", ""), "no sampler")] {
        let error = import(Format::Jmeter, text).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn credentials_of_a_plan_are_never_written() {
    let elements = r#"<HeaderManager testname="H"><collectionProp name="HeaderManager.headers">
        <elementProp name="" elementType="Header"><stringProp name="Header.name">Authorization</stringProp>
        <stringProp name="Header.value">Bearer tok-99</stringProp></elementProp>
        <elementProp name="" elementType="Header"><stringProp name="Header.name">X-Api-Key</stringProp>
        <stringProp name="Header.value">key-77</stringProp></elementProp>
        </collectionProp></HeaderManager><hashTree/>
        <HTTPSamplerProxy testname="P"><stringProp name="HTTPSampler.domain">a.test</stringProp><stringProp name="HTTPSampler.method">POST</stringProp>
        <elementProp name="HTTPsampler.Arguments" elementType="Arguments"><collectionProp name="Arguments.arguments">
        <elementProp name="" elementType="HTTPArgument">
        <stringProp name="Argument.name">password</stringProp><stringProp name="Argument.value">hunter-55</stringProp>
        </elementProp></collectionProp></elementProp>
        </HTTPSamplerProxy><hashTree/>"#;
    let text = complete(&plan(&threads(&number("ThreadGroup.num_threads", "1"), "1"), elements));
    for secret in ["tok-99", "key-77", "hunter-55"] {
        assert!(!text.contains(secret), "{secret}\n{text}");
    }
    assert!(text.contains("auth: { bearer: token }") && text.contains("\"x-api-key\": xApiKey"), "{text}");
}
