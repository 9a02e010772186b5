//! Tests of the objects in the form that a cluster reads: parsed from the YAML.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::*;

fn fleet() -> FleetInCluster {
    FleetInCluster {
        name: "load".to_owned(),
        namespace: Some("tests".to_owned()),
        image: "registry/loadstone:1".to_owned(),
        agents: 3,
        cores: 2,
        memory: "1Gi".to_owned(),
        node_selector: Vec::new(),
        labels: Vec::new(),
        egress: Vec::new(),
        nats: None,
        controllers: Vec::new(),
    }
}

fn elsewhere(authorities: Option<&str>) -> FleetInCluster {
    let nats = NatsElsewhere { address: "tls://joe:hush@nats.example:14222".to_owned(), authorities: authorities.map(str::to_owned) };
    FleetInCluster { nats: Some(nats), ..fleet() }
}

/// By kind and name, read back from YAML.
fn read(fleet: &FleetInCluster) -> BTreeMap<(String, String), Value> {
    let text = yaml(&fleet.objects().unwrap()).unwrap();
    let documents: Vec<Value> = serde_saphyr::from_multiple(&text).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    documents.into_iter().map(|object| ((text(&object["kind"]), text(&object["metadata"]["name"])), object)).collect()
}

fn get(fleet: &FleetInCluster, kind: &str, name: &str) -> Value {
    read(fleet).remove(&(kind.to_owned(), name.to_owned())).unwrap_or_else(|| panic!("there is a {kind} {name}"))
}

/// The contents of a secret.
fn secret_value(secret: &Value, key: &str) -> String {
    String::from_utf8(STANDARD.decode(secret["data"][key].as_str().unwrap()).unwrap()).unwrap()
}

/// Evaluates a selector on labels, as the API specifies (`matchLabels` and the operator `In`).
fn selects(selector: &Value, labels: &Value) -> bool {
    let all = selector["matchLabels"].as_object().unwrap().iter().all(|(key, value)| &labels[key] == value);
    let any = |expression: &Value| {
        assert_eq!(expression["operator"], "In");
        expression["values"].as_array().unwrap().contains(&labels[expression["key"].as_str().unwrap()])
    };
    all && selector["matchExpressions"].as_array().is_none_or(|expressions| expressions.iter().all(any))
}

fn pod_labels(object: &Value) -> &Value {
    &object["spec"]["template"]["metadata"]["labels"]
}

#[test]
fn a_fleet_is_a_job_a_server_and_their_policies() {
    let names: BTreeSet<String> = read(&fleet()).into_keys().map(|(kind, name)| format!("{kind}/{name}")).collect();
    let expected = [
        "Deployment/load-nats",
        "Job/load-agents",
        "NetworkPolicy/load-agents",
        "NetworkPolicy/load-nats",
        "Secret/load-fleet",
        "Secret/load-nats",
        "Service/load-nats",
        "ServiceAccount/load",
    ];
    assert!(names.iter().eq(expected), "{names:?}");
    let names: BTreeSet<String> = read(&elsewhere(None)).into_keys().map(|(kind, name)| format!("{kind}/{name}")).collect();
    assert!(names.iter().eq(["Job/load-agents", "NetworkPolicy/load-agents", "Secret/load-fleet", "ServiceAccount/load"]), "{names:?}");
}

#[test]
fn selectors_find_every_created_object_and_nothing_else() {
    let selector = FleetInCluster::selector("load");
    let selector: Vec<(&str, &str)> = selector.split(',').map(|label| label.split_once('=').unwrap()).collect();
    let found = |labels: &Value| selector.iter().all(|(key, value)| labels[key] == *value);
    for ((kind, name), object) in read(&fleet()) {
        assert!(found(&object["metadata"]["labels"]), "{kind} {name}");
        assert!(KINDS.split(',').any(|known| known.eq_ignore_ascii_case(&kind)), "`fleet down` deletes {kind}");
        assert_eq!(object["metadata"]["namespace"], "tests");
    }
    let other = FleetInCluster { name: "other".to_owned(), ..fleet() };
    assert!(!read(&other).values().any(|object| found(&object["metadata"]["labels"])), "another fleet's objects stay");
}

#[test]
fn selectors_find_the_pods_that_they_are_for() {
    let (job, nats) = (get(&fleet(), "Job", "load-agents"), get(&fleet(), "Deployment", "load-nats"));
    let (agent, server) = (pod_labels(&job), pod_labels(&nats));
    assert!(selects(&nats["spec"]["selector"], server) && !selects(&nats["spec"]["selector"], agent));
    let service = &get(&fleet(), "Service", "load-nats")["spec"];
    let by_service = json!({ "matchLabels": service["selector"] });
    assert!(selects(&by_service, server) && !selects(&by_service, agent));
    let (of_agents, of_nats) = (get(&fleet(), "NetworkPolicy", "load-agents"), get(&fleet(), "NetworkPolicy", "load-nats"));
    assert!(selects(&of_agents["spec"]["podSelector"], agent) && !selects(&of_agents["spec"]["podSelector"], server));
    assert!(selects(&of_nats["spec"]["podSelector"], server) && !selects(&of_nats["spec"]["podSelector"], agent));
    let from = &of_nats["spec"]["ingress"][0]["from"][0]["podSelector"];
    let mut controller = agent.clone();
    controller["app.kubernetes.io/component"] = json!("controller");
    assert!(selects(from, agent) && selects(from, &controller) && !selects(from, server));
    assert!(!selects(from, &json!({ "app.kubernetes.io/component": "agent" })), "agents of another fleet");
    assert!(selects(&job["spec"]["template"]["spec"]["topologySpreadConstraints"][0]["labelSelector"], agent));
}

#[test]
fn networks_are_open_only_as_requested() {
    let open = get(&fleet(), "NetworkPolicy", "load-agents");
    assert_eq!((&open["spec"]["ingress"], &open["spec"]["egress"]), (&json!([]), &json!([{}])), "to any target, and from no peer");
    let narrow = FleetInCluster { egress: vec!["192.0.2.0/24".to_owned()], ..fleet() };
    let rules = get(&narrow, "NetworkPolicy", "load-agents")["spec"]["egress"].clone();
    assert_eq!(rules[0]["to"][0]["ipBlock"]["cidr"], "192.0.2.0/24");
    let server = get(&narrow, "Deployment", "load-nats");
    assert!(selects(&rules[1]["to"][0]["podSelector"], pod_labels(&server)) && rules[1]["ports"][0]["port"] == 4222);
    assert!(rules[2]["ports"].as_array().unwrap().iter().all(|port| port["port"] == 53) && rules.as_array().unwrap().len() == 3);
    let there = FleetInCluster { egress: vec!["192.0.2.0/24".to_owned()], ..elsewhere(None) };
    assert_eq!(get(&there, "NetworkPolicy", "load-agents")["spec"]["egress"][1]["ports"][0]["port"], 14222);
    assert_eq!(get(&fleet(), "NetworkPolicy", "load-nats")["spec"]["egress"], json!([]));
}

#[test]
fn every_pod_is_confined_and_gets_its_requested_resources() {
    for (kind, name) in [("Job", "load-agents"), ("Deployment", "load-nats")] {
        let pod = get(&fleet(), kind, name)["spec"]["template"]["spec"].clone();
        assert_eq!((&pod["serviceAccountName"], &pod["automountServiceAccountToken"]), (&json!("load"), &json!(false)), "{name}");
        assert!(pod["securityContext"]["runAsNonRoot"] == true && pod["securityContext"]["runAsUser"] != 0, "{name}");
        for container in pod["containers"].as_array().unwrap() {
            let security = &container["securityContext"];
            assert_eq!(security["readOnlyRootFilesystem"], true, "{name}");
            assert_eq!(security["allowPrivilegeEscalation"], false, "{name}");
            assert_eq!(security["capabilities"], json!({ "drop": ["ALL"] }), "{name}");
            assert_eq!(security["seccompProfile"]["type"], "RuntimeDefault", "{name}");
            assert_eq!(container["resources"]["requests"], container["resources"]["limits"], "{name}");
            assert!(container["resources"]["limits"]["memory"].is_string() && !container["image"].as_str().unwrap().ends_with(":latest"));
        }
    }
    assert_eq!(get(&fleet(), "ServiceAccount", "load")["automountServiceAccountToken"], false);
}

/// Arguments of the agents' container.
fn arguments(fleet: &FleetInCluster) -> Vec<String> {
    let container = get(fleet, "Job", "load-agents")["spec"]["template"]["spec"]["containers"][0].clone();
    let arguments: Vec<String> = serde_json::from_value(container["args"].clone()).unwrap();
    let environment: Vec<&str> = container["env"].as_array().unwrap().iter().map(|variable| variable["name"].as_str().unwrap()).collect();
    for variable in arguments.iter().filter_map(|argument| Some(argument.split_once("$(")?.1.trim_end_matches(')'))) {
        // The Job controller sets this one.
        assert!(variable == "JOB_COMPLETION_INDEX" || environment.contains(&variable), "{variable} is set");
    }
    arguments
}

#[test]
fn agents_obey_the_keys_of_their_fleet() {
    let of_agents = |fleet: &FleetInCluster| {
        let variables = get(fleet, "Job", "load-agents")["spec"]["template"]["spec"]["containers"][0]["env"].clone();
        let set =
            |name: &str| variables.as_array().unwrap().iter().find(|variable| variable["name"] == name).map(|found| found["value"].clone());
        (set("LOADSTONE_CONTROLLER_KEY"), set("LOADSTONE_ANY_CONTROLLER"))
    };
    let key = || loadstone_fleet::FleetKey::generate().unwrap().public();
    let keys = [key(), key()];
    let with_keys = FleetInCluster { controllers: keys.to_vec(), ..fleet() };
    assert_eq!(of_agents(&with_keys), (Some(json!(format!("{},{}", keys[0], keys[1]))), None));
    assert_eq!(of_agents(&fleet()), (None, Some(json!("true"))));
}

#[test]
fn agents_are_named_by_index_and_labelled_by_node() {
    let job = get(&fleet(), "Job", "load-agents")["spec"].clone();
    assert_eq!((&job["completionMode"], &job["completions"], &job["parallelism"]), (&json!("Indexed"), &json!(3), &json!(3)));
    assert_eq!(job["template"]["spec"]["restartPolicy"], "OnFailure");
    let of_pod = ["--label=node=$(NODE_NAME)", "--label=region=$(NODE_REGION)", "--label=zone=$(NODE_ZONE)"];
    let begin = ["agent", "--name=agent-$(JOB_COMPLETION_INDEX)", "--workers=2"];
    assert!(arguments(&fleet()).iter().eq(begin.iter().chain(&of_pod)), "{:?}", arguments(&fleet()));
    let pair = |key: &str, value: &str| vec![(key.to_owned(), value.to_owned())];
    let selected = FleetInCluster { node_selector: pair("topology.kubernetes.io/region", "eu"), ..fleet() };
    assert!(arguments(&selected).contains(&"--label=region=eu".to_owned()), "{:?}", arguments(&selected));
    let selector = get(&selected, "Job", "load-agents")["spec"]["template"]["spec"]["nodeSelector"].clone();
    assert_eq!(selector, json!({ "topology.kubernetes.io/region": "eu" }));
    let labelled = FleetInCluster { labels: pair("region", "moon"), ..selected };
    let regions: Vec<String> = arguments(&labelled).into_iter().filter(|argument| argument.contains("region=")).collect();
    assert_eq!(regions, ["--label=region=moon"], "what the user says counts");
}

#[test]
fn secrets_are_only_in_secret_objects_and_new_each_time() {
    let passwords = |fleet: &FleetInCluster| {
        ["agent", "controller"]
            .map(|user| secret_value(&get(fleet, "Secret", "load-fleet"), user).split([':', '@']).nth(2).unwrap().to_owned())
    };
    let objects = fleet().objects().unwrap();
    let of_agents = secret_value(objects.iter().find(|object| object["metadata"]["name"] == "load-fleet").unwrap(), "agent");
    let agent = of_agents.split([':', '@']).nth(2).unwrap();
    for object in objects.iter().filter(|object| object["kind"] != "Secret") {
        assert!(!object.to_string().contains(agent) && !object.to_string().contains("PRIVATE KEY"), "{object}");
    }
    let (one, other) = (passwords(&fleet()), passwords(&fleet()));
    let all: BTreeSet<&String> = one.iter().chain(&other).collect();
    assert!(all.len() == 4 && all.iter().all(|password| password.len() == 32), "{all:?}");
}

#[test]
fn an_existing_server_is_joined_with_its_authorities() {
    let secret = get(&elsewhere(None), "Secret", "load-fleet");
    assert_eq!(
        (secret_value(&secret, "agent").as_str(), secret["data"].as_object().unwrap().len()),
        ("tls://joe:hush@nats.example:14222", 1)
    );
    let volumes =
        |fleet: &FleetInCluster| get(fleet, "Job", "load-agents")["spec"]["template"]["spec"]["volumes"].as_array().unwrap().len();
    assert_eq!((volumes(&elsewhere(None)), volumes(&elsewhere(Some("PEM"))), volumes(&fleet())), (1, 2, 2));
    assert_eq!(secret_value(&get(&elsewhere(Some("PEM")), "Secret", "load-fleet"), "ca.crt"), "PEM");
}
