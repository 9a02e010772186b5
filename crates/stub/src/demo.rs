//! The demo shop: the target of `loadstone demo`, with two deliberate limits to find.
//!
//! `GET /search` is slow and widely distributed. `POST /checkout` holds one of four database connections for 40 ms, so it cannot exceed 100
//! per second. Above that rate its callers queue for a connection while every other endpoint remains fast. All other endpoints are quick.
//! `PUT /pool` with `{"size": 8}` changes the number of connections, for experiments. The answers resemble a shop's. An unknown cart is
//! 404.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use crate::{Behaviour, Delay, PlaceCount, Recording, SeededRandom, Server, StubError, StubRequest, StubResponse, Wait};

/// Products on sale; ids run from 1.
const PRODUCTS: u64 = 200;
const PAGE: u64 = 20;
/// The oldest cart is removed when there are more.
const CARTS_MAX: usize = 10_000;

/// How the shop behaves. The default is the documented behaviour.
#[derive(Debug, Clone)]
pub struct DemoOptions {
    pub listen: SocketAddr,
    /// Database connections that checkouts share.
    pub pool: usize,
    /// How long a checkout holds one. Nanoseconds.
    pub checkout_ns: u64,
    /// Shortest and longest time of a search, distributed evenly on a logarithmic scale. Nanoseconds.
    pub search_ns: (u64, u64),
    pub seed: u64,
}

impl Default for DemoOptions {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            pool: 4,
            checkout_ns: 40_000_000,
            search_ns: (20_000_000, 800_000_000),
            seed: 1,
        }
    }
}

/// The shop, on its own thread. Dropping it stops it.
#[derive(Debug)]
pub struct DemoShop {
    server: Server,
}

impl DemoShop {
    /// # Errors
    /// The address is not free.
    pub fn start(options: DemoOptions) -> Result<Self, StubError> {
        let carts = Arc::new(Mutex::new(Carts::new(options.seed)));
        let with_carts = |answer: fn(&mut Carts, &StubRequest) -> StubResponse| {
            let carts = Arc::clone(&carts);
            // Only the server's thread takes this lock. It exists because two endpoints share the carts.
            Behaviour::function(move |request| answer(&mut carts.lock().unwrap_or_else(PoisonError::into_inner), request))
        };
        let (from_ns, to_ns) = options.search_ns;
        let pool = PlaceCount::new(options.pool.max(1));
        let resized = pool.clone();
        let server = Server::builder()
            .listen(options.listen)
            .seed(options.seed)
            .route("GET /", Behaviour::json(&json!({ "shop": "Loadstone demo", "products": PRODUCTS })))
            .route("GET /health", Behaviour::json(&json!({ "status": "up" })))
            .route("GET /pool", {
                let pool = pool.clone();
                Behaviour::function(move |_| size(&pool))
            })
            .route("PUT /pool", Behaviour::function(move |request| resize(&resized, request)))
            .route("GET /products", Behaviour::function(list).wait(Wait::fixed_ns(3_000_000)))
            .route("GET /products/:id", Behaviour::function(details).wait(Wait::fixed_ns(2_000_000)))
            .route(
                "GET /search",
                Behaviour::function(search).wait(Wait::Drawn(Delay::LogUniform { from_ns: from_ns as f64, to_ns: to_ns as f64 })),
            )
            .route("POST /carts", with_carts(Carts::create).wait(Wait::fixed_ns(4_000_000)))
            .route("GET /carts/:id", with_carts(Carts::show).wait(Wait::fixed_ns(2_000_000)))
            .route("POST /carts/:id/items", with_carts(Carts::add).wait(Wait::fixed_ns(4_000_000)))
            .route("POST /checkout", with_carts(Carts::check_out).wait(Wait::fixed_ns(options.checkout_ns)).places(pool))
            .start()?;
        Ok(Self { server })
    }

    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// `http://127.0.0.1:PORT`, without a trailing slash.
    pub fn url(&self) -> String {
        self.server.url("")
    }

    /// The requests that the shop has received. Blocks briefly.
    pub fn recording(&self) -> Recording {
        self.server.recording()
    }
}

fn size(pool: &PlaceCount) -> StubResponse {
    StubResponse::json(200, &json!({ "size": pool.get() }))
}

fn resize(pool: &PlaceCount, request: &StubRequest) -> StubResponse {
    match request.json().unwrap_or_default()["size"].as_u64().filter(|size| (1..=1_000).contains(size)) {
        Some(wanted) => {
            pool.set(wanted as usize);
            size(pool)
        }
        None => problem(400, "\"size\" must be a number of connections from 1 to 1000"),
    }
}

fn product(id: u64) -> Value {
    const KINDS: [&str; 8] = ["Lantern", "Compass", "Rucksack", "Kettle", "Hammock", "Rope", "Stove", "Tent"];
    const MAKES: [&str; 5] = ["Northbound", "Lodestar", "Fjell", "Granite", "Alder"];
    let (kind, make) = (KINDS[(id % 8) as usize], MAKES[(id / 8 % 5) as usize]);
    json!({ "id": id, "name": format!("{make} {kind}"), "price_cents": price_cents(id), "stock": 3 + id * 7 % 40 })
}

fn price_cents(id: u64) -> u64 {
    990 + id * 379 % 12_000
}

fn list(request: &StubRequest) -> StubResponse {
    let page = request.query_value("page").and_then(|page| page.parse().ok()).unwrap_or(1u64).clamp(1, PRODUCTS.div_ceil(PAGE));
    let first = (page - 1) * PAGE + 1;
    let products: Vec<Value> = (first..(first + PAGE).min(PRODUCTS + 1)).map(product).collect();
    StubResponse::json(200, &json!({ "products": products, "page": page, "pages": PRODUCTS.div_ceil(PAGE) }))
}

fn details(request: &StubRequest) -> StubResponse {
    let id = request.parameter("id").and_then(|id| id.parse().ok()).filter(|id| (1..=PRODUCTS).contains(id));
    match id {
        Some(id) => {
            let mut value = product(id);
            value["description"] = json!("Packed small, built for weather, repaired free of charge for ten years.");
            value["related"] = json!([id % PRODUCTS + 1, (id + 40) % PRODUCTS + 1, (id + 80) % PRODUCTS + 1]);
            StubResponse::json(200, &value)
        }
        None => problem(404, "there is no such product"),
    }
}

fn search(request: &StubRequest) -> StubResponse {
    let words = request.query_value("q").unwrap_or_default().to_lowercase();
    let matches = |value: &Value| value["name"].as_str().is_some_and(|name| name.to_lowercase().contains(&words));
    let found: Vec<Value> = (1..=PRODUCTS).map(product).filter(matches).take(PAGE as usize).collect();
    StubResponse::json(200, &json!({ "query": words, "count": found.len(), "products": found }))
}

fn problem(status: u16, message: &str) -> StubResponse {
    StubResponse::json(status, &json!({ "error": message }))
}

struct Carts {
    random: SeededRandom,
    /// Oldest first. Searched from the newest, which is usually the one in use.
    carts: std::collections::VecDeque<Cart>,
    orders: u64,
}

struct Cart {
    id: String,
    items: Vec<(u64, u64)>,
}

impl Carts {
    fn new(seed: u64) -> Self {
        Self { random: SeededRandom::from_seed(seed ^ 0x5eed), carts: std::collections::VecDeque::new(), orders: 0 }
    }

    fn create(&mut self, _: &StubRequest) -> StubResponse {
        let id = format!("{:016x}", self.random.next_u64());
        if self.carts.len() == CARTS_MAX {
            self.carts.pop_front();
        }
        let cart = Cart { id, items: Vec::new() };
        let response = StubResponse::json(201, &cart.value());
        self.carts.push_back(cart);
        response
    }

    fn find(&mut self, id: &str) -> Option<&mut Cart> {
        self.carts.iter_mut().rev().find(|cart| cart.id == id)
    }

    fn show(&mut self, request: &StubRequest) -> StubResponse {
        match self.find(request.parameter("id").unwrap_or_default()) {
            Some(cart) => StubResponse::json(200, &cart.value()),
            None => problem(404, "there is no such cart"),
        }
    }

    fn add(&mut self, request: &StubRequest) -> StubResponse {
        let item = request.json().unwrap_or_default();
        let product = item["product"].as_u64().filter(|id| (1..=PRODUCTS).contains(id));
        let Some(product) = product else {
            return problem(400, "\"product\" must be the id of a product");
        };
        let count = item["count"].as_u64().unwrap_or(1).clamp(1, 99);
        match self.find(request.parameter("id").unwrap_or_default()) {
            Some(cart) if cart.items.len() < 50 => {
                cart.items.push((product, count));
                StubResponse::json(200, &cart.value())
            }
            Some(_) => problem(409, "the cart is full"),
            None => problem(404, "there is no such cart"),
        }
    }

    fn check_out(&mut self, request: &StubRequest) -> StubResponse {
        let order = request.json().unwrap_or_default();
        let id = order["cart"].as_str().unwrap_or_default().to_owned();
        let Some(index) = self.carts.iter().rposition(|cart| cart.id == id) else {
            return problem(404, "there is no such cart");
        };
        let Some(cart) = self.carts.remove(index) else { return problem(404, "there is no such cart") };
        self.orders += 1;
        StubResponse::json(201, &json!({ "order": self.orders, "cart": cart.id, "total_cents": cart.total_cents(), "status": "paid" }))
    }
}

impl Cart {
    fn total_cents(&self) -> u64 {
        self.items.iter().map(|(product, count)| price_cents(*product) * count).sum()
    }

    fn value(&self) -> Value {
        let items: Vec<Value> = self.items.iter().map(|(product, count)| json!({ "product": product, "count": count })).collect();
        json!({ "id": self.id, "items": items, "total_cents": self.total_cents() })
    }
}
