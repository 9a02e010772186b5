//! The demo shop: a purchase from end to end, and the deliberate limit in numbers.

use loadstone_stub::demo::{DemoOptions, DemoShop};
use loadstone_stub::now_ns;
use serde_json::json;

use crate::client;

#[test]
fn a_purchase_from_list_to_order() {
    let shop = DemoShop::start(DemoOptions::default()).unwrap();
    let address = shop.address();
    client::run(async {
        let list = client::json(&client::once(address, "GET", "/products?page=2", "").await);
        let product = list["products"][0]["id"].as_u64().unwrap();
        assert_eq!((product, list["products"].as_array().unwrap().len()), (21, 20));
        let details = client::json(&client::once(address, "GET", &format!("/products/{product}"), "").await);
        let cart = client::once(address, "POST", "/carts", "").await;
        assert_eq!(cart.status(), 201);
        let id = client::json(&cart)["id"].as_str().unwrap().to_owned();
        let item = json!({ "product": product, "count": 2 }).to_string();
        assert_eq!(client::once(address, "POST", &format!("/carts/{id}/items"), &item).await.status(), 200);
        let order = client::once(address, "POST", "/checkout", &json!({ "cart": id }).to_string()).await;
        assert_eq!(order.status(), 201);
        assert_eq!(client::json(&order)["total_cents"], details["price_cents"].as_u64().unwrap() * 2);
        assert_eq!(client::once(address, "GET", &format!("/carts/{id}"), "").await.status(), 404);
        assert_eq!(client::once(address, "GET", "/products/201", "").await.status(), 404);
        let found = client::json(&client::once(address, "GET", "/search?q=tent", "").await);
        assert!(found["products"].as_array().unwrap().iter().all(|product| product["name"].as_str().unwrap().contains("Tent")));
    });
}

/// Sixteen checkouts at once over four connections that each hold for 40 ms need four rounds: at least 160 ms on any machine.
#[test]
fn at_most_four_checkouts_run_at_once() {
    let shop = DemoShop::start(DemoOptions::default()).unwrap();
    let address = shop.address();
    let took_ns = client::run(async {
        let started = now_ns();
        let orders: Vec<_> = (0..16).map(|_| tokio::spawn(client::once(address, "POST", "/checkout", "{}"))).collect();
        for order in orders {
            assert_eq!(order.await.unwrap().status(), 404);
        }
        now_ns() - started
    });
    assert!(took_ns >= 160_000_000, "{took_ns}");
    let recording = shop.recording();
    let checkout = recording.routes.iter().find(|route| route.route == "POST /checkout").unwrap();
    assert_eq!((checkout.requests, checkout.answered()), (16, 16));
}

/// One connection instead of four: four checkouts run one after the other, and take at least four times 40 ms.
#[test]
fn the_pool_size_can_change_while_the_shop_serves() {
    let shop = DemoShop::start(DemoOptions::default()).unwrap();
    let address = shop.address();
    let took_ns = client::run(async {
        assert_eq!(client::once(address, "PUT", "/pool", "{\"size\": 0}").await.status(), 400);
        assert_eq!(client::json(&client::once(address, "PUT", "/pool", "{\"size\": 1}").await)["size"], 1);
        let started = now_ns();
        let orders: Vec<_> = (0..4).map(|_| tokio::spawn(client::once(address, "POST", "/checkout", "{}"))).collect();
        for order in orders {
            order.await.unwrap();
        }
        now_ns() - started
    });
    assert!(took_ns >= 160_000_000, "{took_ns}");
}
