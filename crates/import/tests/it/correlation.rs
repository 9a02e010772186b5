//! Values that answers gave and later requests send.

use loadstone_import::Format;
use serde_json::{Value, json};

use crate::written;

/// A recording: path, answer and body of each request.
fn recorded(exchanges: &[(&str, Value, Value)]) -> String {
    let entry = |(path, answer, body): &(&str, Value, Value)| {
        let headers = json!([{ "name": "content-type", "value": "application/json" }]);
        let mut request = json!({ "method": "POST", "url": format!("http://127.0.0.1:9{path}"), "headers": headers, "cookies": [] });
        request["postData"] = json!({ "mimeType": "application/json", "text": body.to_string() });
        json!({
            "startedDateTime": "2026-03-01T10:00:00Z", "time": 1, "request": request,
            "response": { "status": 200, "cookies": [], "redirectURL": "", "content": { "mimeType": "application/json", "text": answer.to_string() } },
        })
    };
    json!({ "log": { "version": "1.2", "entries": exchanges.iter().map(entry).collect::<Vec<_>>() } }).to_string()
}

#[test]
fn a_value_is_read_wherever_it_is_sent() {
    let text = written(
        Format::Har,
        &recorded(&[
            ("/login", json!({ "session": { "key": "ab12-cd34" }, "list": [{ "orderId": 7 }] }), json!({})),
            ("/orders/7/pay?session=ab12-cd34", json!({}), json!({ "order": 7, "sure": true })),
        ]),
    );
    for part in [
        "user.state.key = response.json(\"$.session.key\");",
        "user.state.orderId = response.json(\"$.list[0].orderId\");",
        "`/orders/${user.state.orderId}/pay?session=${user.state.key}`",
        "json: { order: user.state.orderId, sure: true }",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn what_turns_up_by_chance_is_not_connected() {
    for (answer, sent) in [
        // A word, a count, a flag: many things are called so.
        (json!({ "language": "en" }), json!({ "language": "en" })),
        (json!({ "total": 3 }), json!({ "count": 3 })),
        (json!({ "ok": true }), json!({ "sure": true })),
        // A part of another value is not that value.
        (json!({ "id": 12 }), json!({ "amount": 1250, "note": "12 pieces" })),
        // Nobody sends it.
        (json!({ "token": "xyz-123-456" }), json!({ "other": "xyz-123-457" })),
    ] {
        let text = written(Format::Har, &recorded(&[("/a", answer.clone(), json!({})), ("/b", json!({}), sent)]));
        assert!(!text.contains("user.state"), "{answer}\n{text}");
    }
}

#[test]
fn what_a_request_sent_before_is_no_answers_value() {
    let text = written(
        Format::Har,
        &recorded(&[("/a", json!({ "orderId": 4711 }), json!({ "orderId": 4711 })), ("/b", json!({}), json!({ "orderId": 4711 }))]),
    );
    assert!(!text.contains("user.state"), "{text}");
}

#[test]
fn fields_of_forms_are_read_however_their_attributes_are_quoted() {
    for tag in [
        "<input type=\"hidden\" name=\"csrf\" value=\"tok-8812-ab\">",
        "<input type='hidden' name='csrf' value='tok-8812-ab'/>",
        "<input type=hidden name=csrf value=tok-8812-ab>",
        "<INPUT VALUE=tok-8812-ab\n  NAME = csrf>",
    ] {
        let mut har: Value =
            serde_json::from_str(&recorded(&[("/form", json!({}), json!({})), ("/send", json!({}), json!({ "csrf": "tok-8812-ab" }))]))
                .unwrap();
        har["log"]["entries"][0]["response"]["content"] = json!({ "mimeType": "text/html", "text": format!("<form>{tag}</form>") });
        let text = written(Format::Har, &har.to_string());
        assert!(text.contains("json: { csrf: user.state.csrf }"), "{tag}\n{text}");
    }
}

#[test]
fn requests_and_values_are_named_after_what_they_are_about() {
    let text = written(
        Format::Har,
        &recorded(&[
            ("/products?page=3", json!({ "products": [{ "id": 41 }] }), json!({})),
            ("/products/41", json!({}), json!({})),
            ("/api/carts", json!({ "id": 977 }), json!({})),
            ("/api/carts/977", json!({}), json!({})),
            ("/categories/12", json!({}), json!({})),
            ("/status/12", json!({}), json!({})),
        ]),
    );
    for part in [
        "name: \"Post products\"",
        "name: \"Post product\"",
        "name: \"Post category\"",
        "name: \"Post status\"",
        "user.state.productId = response.json(\"$.products[0].id\");",
        "user.state.cartId = response.json(\"$.id\");",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}
