//! Prometheus: pushed by remote write, and served for scraping.

mod bounds;
mod proto;
mod remote;
mod scrape;
mod text;

pub(crate) use remote::{CLASSIC, NATIVE};
pub(crate) use scrape::ScrapeEndpoint;
