//! Command lines, collections and descriptions.

use loadstone_import::{Format, NoteKind};

use crate::{import, written};

#[test]
fn words_of_a_shell_are_read_as_a_shell_does() {
    for (command, here) in [
        ("curl http://a.test/x", "user.get(\"/x\""),
        ("curl a.test", "user.get(\"/\""),
        ("curl -XDELETE 'http://a.test/x'", "user.delete(\"/x\""),
        ("curl http://a.test/x -d a=1 -d 'b=2+3'", "form: { a: \"1\", b: \"2 3\" }"),
        ("curl http://a.test/x --json '{\"a\":\"it'\\''s\"}'", "json: { a: \"it's\" }"),
        ("curl http://a.test/x -H \"X-A: \\\"q\\\"\"", "\"x-a\": \"\\\"q\\\"\""),
        (
            "curl http://a.test/x \\\n  -F name=ann -F picture=@me.png",
            "multipart: { name: \"ann\", picture: { content: file(\"me.png\"), filename: \"me.png\", contentType: \"image/png\" } }",
        ),
        ("curl http://a.test/x --json $'{\"a\":\"it\\'s \\u00e9\"}'", "json: { a: \"it's é\" }"),
        ("curl -I --request GET http://a.test/x", "user.get(\"/x\""),
        // The options of `user.get` have no body.
        ("curl -X GET http://a.test/x -d '{\"q\":1}'", "user.request(\"GET\", \"/x\""),
    ] {
        let text = written(Format::Curl, command);
        assert!(text.contains(here), "{command}\n{here}\n{text}");
    }
    assert!(import(Format::Curl, "curl 'http://a.test").is_err(), "a quote that is not closed");
}

#[test]
fn credentials_of_a_url_are_never_written() {
    let text = written(Format::Curl, "curl http://ann:open-sesame@a.test/x");
    assert!(!text.contains("open-sesame") && !text.contains("ann"), "{text}");
    assert!(text.contains("user.get(\"/x\"") && text.contains("auth: { username: username, password: password }"), "{text}");
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

#[test]
fn a_recording_keeps_the_requests_behind_a_redirect_of_the_host() {
    let entry = |url: &str, status: u16, to: &str, cookie: &str| {
        serde_json::json!({
            "startedDateTime": "2026-03-01T10:00:00Z", "time": 1,
            "request": { "method": "GET", "url": url, "headers": [{ "name": "cookie", "value": format!("{cookie}=1") }], "cookies": [] },
            "response": { "status": status, "redirectURL": to, "cookies": [], "content": { "mimeType": "text/html" } },
        })
    };
    let har = serde_json::json!({ "log": { "version": "1.2", "entries": [
        entry("http://shop.test/", 301, "https://shop.test/", "own"),
        entry("https://shop.test/", 302, "https://www.shop.test/", "own"),
        entry("https://www.shop.test/", 200, "", "own"),
        entry("https://www.shop.test/old", 302, "/new", "own"),
        entry("https://www.shop.test/new", 200, "", "own"),
        entry("https://www.shop.test/cart", 200, "", "own"),
        entry("https://ads.test/pixel", 200, "", "advertiser"),
    ] } });
    // With a byte order mark, as some tools write it.
    let text = written(Format::Har, &format!("\u{feff}{har}"));
    for part in ["default: \"https://www.shop.test\"", "user.get(\"/\"", "user.get(\"/old\"", "user.get(\"/cart\"", "cookies.set(\"own\""] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    for part in ["http://shop.test", "\"/new\"", "advertiser", "ads.test"] {
        assert!(!text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn numbers_of_any_size_and_styles_of_parameters_are_read() {
    let document = "openapi: 3.1.0\ninfo: { title: T, version: 1 }\npaths:\n  /a:\n    get:\n      parameters:\n        \
        - { name: n, in: query, required: true, schema: { type: integer, minimum: -9223372036854776000, maximum: 18446744073709551616 } }\n        \
        - { name: f, in: query, required: true, style: deepObject, schema: { type: object, properties: { x: { type: integer } } } }\n        \
        - { name: ids, in: query, required: true, explode: false, schema: { type: array, minItems: 2, items: { type: integer } } }\n        \
        - { name: tag, in: query, required: true, schema: { type: array, minItems: 2, items: { type: string, enum: [a] } } }\n        \
        - { name: c, in: cookie, required: true, schema: { type: integer, exclusiveMinimum: 4 } }\n      responses: { 200: { description: d } }\n";
    let text = written(Format::OpenApi, document);
    assert!(text.contains("/a?n=1&f[x]=1&ids=1,2&tag=a&tag=a"), "{text}");
    assert!(text.contains("cookie: `c=${cCookie}`") && text.contains("expect: { status: 200 }"), "{text}");
}

#[test]
fn swagger_2_is_read_as_openapi_3() {
    let document = r##"{ "swagger": "2.0", "info": { "title": "T", "version": "1" }, "host": "api.test:8443", "basePath": "/v2", "schemes": ["http", "https"],
      "consumes": ["application/json"], "securityDefinitions": { "key": { "type": "apiKey", "in": "header", "name": "X-Key" }, "b": { "type": "basic" } },
      "security": [{ "key": [] }], "definitions": { "Pet": { "type": "object", "properties": { "name": { "type": "string", "example": "Rex" } } } },
      "parameters": { "page": { "name": "page", "in": "query", "type": "integer", "required": true, "minimum": 3 } },
      "paths": { "/pets/{id}": {
        "parameters": [{ "name": "id", "in": "path", "required": true, "type": "integer" }],
        "get": { "parameters": [{ "$ref": "#/parameters/page" },
          { "name": "s", "in": "query", "required": true, "type": "array", "items": { "enum": ["a", "b"] }, "collectionFormat": "multi" },
          { "name": "t", "in": "query", "required": true, "type": "array", "minItems": 2, "items": { "type": "integer" } }] },
        "put": { "parameters": [{ "name": "body", "in": "body", "schema": { "$ref": "#/definitions/Pet" } }], "security": [{ "b": [] }] },
        "post": { "consumes": ["multipart/form-data"], "parameters": [{ "name": "note", "in": "formData", "type": "string" },
          { "name": "photo", "in": "formData", "type": "file" }] },
        "patch": { "consumes": ["application/x-www-form-urlencoded"], "parameters": [{ "name": "name", "in": "formData", "type": "string" }] } } } }"##;
    let text = written(Format::OpenApi, document);
    for part in [
        "default: \"https://api.test:8443\"",
        "/v2/pets/${id}?page=3&s=a&t=1,2`",
        "\"x-key\": key",
        "json: { name: \"Rex\" }",
        "auth: { username: username, password: password }",
        "photo: { content: \"text\", filename: \"photo.txt\"",
        "form: { name: \"text\" }",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn members_of_a_wrong_kind_end_no_import_of_swagger_2() {
    let document = r#"{ "swagger": "2.0", "components": "x", "securityDefinitions": [], "definitions": 1,
      "paths": { "/a": { "get": "x", "parameters": "y", "put": { "parameters": [1, "x"], "security": "z" } }, "/b": 7 } }"#;
    assert!(written(Format::OpenApi, document).contains("user.put(\"/a\""), "{}", written(Format::OpenApi, document));
}

#[test]
fn a_collection_sends_what_postman_sends() {
    let collection = serde_json::json!({
      "info": { "name": "C", "schema": "https://schema.getpostman.com/json/collection/v2.1.0/collection.json" },
      "auth": { "type": "apikey", "apikey": [{ "key": "key", "value": "X-Key" }, { "key": "value", "value": "{{k}}" }] },
      "event": [{ "listen": "prerequest", "script": { "exec": ["pm.variables.set('now', Date.now())"] } }],
      "variable": [{ "key": "base", "value": "http://a.test" }, { "key": "id", "value": "7" }, { "key": "k", "value": "k-1234" }],
      "item": [
        { "name": "Raw", "request": { "method": "PUT", "url": { "raw": "{{base}}/raw?a=1&off=2",
            "query": [{ "key": "a", "value": "1" }, { "key": "off", "value": "2", "disabled": true }] },
          "body": { "mode": "raw", "raw": "{\"id\": {{id}}, \"s\": \"{{id}}\", \"at\": \"{{$timestamp}}\"}", "options": { "raw": { "language": "json" } } } },
          "event": [{ "listen": "test", "script": { "exec": ["tests['ok'] = responseCode.code === 200;", "var d = JSON.parse(responseBody);",
            "postman.setEnvironmentVariable('next', d.next);", "postman.setNextRequest('Raw');"] } }] },
        { "name": "File", "request": { "method": "POST", "url": "{{base}}/f/{{next}}", "body": { "mode": "formdata", "formdata": [
          { "key": "f", "type": "file", "src": "a.txt" }, { "key": "g", "type": "file", "src": [] }] } } }
      ] });
    let imported = import(Format::Postman, &collection.to_string()).unwrap();
    let text = &imported.text;
    for part in [
        "user.put(\"/raw?a=1\"",
        "body: `{\"id\": ${id}, \"s\": \"${id}\", \"at\": \"${Math.floor(Date.now() / 1000)}\"}`",
        "\"content-type\": \"application/json\"",
        "const k = param.string(\"k\", { default: \"\", secret: true",
        "user.check(\"ok\", response.status === 200);",
        "user.state.next = response.json(\"$.next\");",
        "/f/${user.state.next}`",
        "multipart: { f: file(\"a.txt\") }",
        "// pm.variables.set('now', Date.now())",
        "// postman.setNextRequest('Raw');",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(!text.contains("k-1234"), "{text}");
    let lost: Vec<&str> = imported.notes.iter().filter(|note| note.kind == NoteKind::Lost).map(|note| note.text.as_str()).collect();
    assert_eq!(lost.len(), 3, "{lost:?}");
    assert!(!imported.is_complete());
}
