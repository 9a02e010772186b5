//! Command lines, collections and descriptions.

use loadstone_import::Format;

use crate::{import, written};

#[test]
fn words_of_a_shell_are_read_as_a_shell_does() {
    for (command, here) in [
        ("curl http://a.test/x", "user.get(\"/x\""),
        ("curl a.test", "user.get(\"/\""),
        ("curl -XDELETE 'http://a.test/x'", "user.delete(\"/x\""),
        ("curl http://a.test/x -d a=1 -d 'b=2 3'", "form: { a: \"1\", b: \"2 3\" }"),
        ("curl http://a.test/x --json '{\"a\": \"it'\\''s\"}'", "json: { a: \"it's\" }"),
        ("curl http://a.test/x -H \"X-A: \\\"q\\\"\"", "\"x-a\": \"\\\"q\\\"\""),
        ("curl http://a.test/x \\\n  -F name=ann -F picture=@me.png", "multipart: { name: \"ann\", picture: file(\"me.png\") }"),
        ("curl http://a.test/x -d $'{\"a\":\"it\\'s \\u00e9\"}'", "json: { a: \"it's é\" }"),
        ("curl -I --request=GET http://a.test/x", "user.get(\"/x\""),
    ] {
        let text = written(Format::Curl, command);
        assert!(text.contains(here), "{command}\n{here}\n{text}");
    }
    assert!(import(Format::Curl, "curl 'http://a.test").is_err(), "a quote that is not closed");
}

#[test]
fn credentials_of_a_url_are_never_written() {
    let text = written(Format::Curl, "curl http://ann:open-sesame@a.test/x");
    assert!(!text.contains("open-sesame") && text.contains("user.get(\"/x\"") && text.contains("username: \"ann\""), "{text}");
}

#[test]
fn a_secret_is_never_written() {
    let text = written(
        Format::Curl,
        "curl -u ann:open-sesame 'http://a.test/x?api_key=k-998877' -H 'Authorization: Bearer t-112233' -H 'X-Auth-Token: x-445566' -b 'sid=c-778899'",
    );
    for secret in ["open-sesame", "k-998877", "t-112233", "x-445566", "c-778899"] {
        assert!(!text.contains(secret), "{secret}\n{text}");
    }
}

#[test]
fn values_of_a_collection_are_handed_on() {
    let collection = r#"{
      "info": { "name": "C", "schema": "https://schema.getpostman.com/json/collection/v2.1.0/collection.json" },
      "item": [
        { "name": "Log in", "event": [{ "listen": "test", "script": { "exec": ["pm.environment.set('key', pm.response.json().data.key);"] } }],
          "request": { "method": "POST", "url": "https://{{host}}/login" } },
        { "name": "Look", "request": { "method": "GET", "url": "https://{{host}}/look/{{key}}", "header": [] } }
      ]
    }"#;
    let text = written(Format::Postman, collection);
    assert!(text.contains("user.state.key = response.json(\"$.data.key\");"), "{text}");
    assert!(text.contains("/look/${user.state.key}`"), "{text}");
}

#[test]
fn a_description_in_json_or_yaml_is_the_same() {
    let yaml = "openapi: 3.0.3\n\
                info: { title: T, version: '1' }\n\
                paths:\n  /a/{id}:\n    get:\n      \
                parameters: [{ name: id, in: path, required: true, schema: { type: integer } }]\n      \
                responses: { '200': { description: d } }\n";
    let json = r#"{ "openapi": "3.0.3", "info": { "title": "T", "version": "1" }, "paths": { "/a/{id}": { "get": { "parameters":
        [{ "name": "id", "in": "path", "required": true, "schema": { "type": "integer" } }], "responses": { "200": { "description": "d" } } } } } }"#;
    assert_eq!(written(Format::OpenApi, yaml), written(Format::OpenApi, json));
    assert!(written(Format::OpenApi, yaml).contains("user.get(`/a/${id}`"), "the part of the path is a parameter");
}
