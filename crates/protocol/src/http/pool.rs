//! One user's kept-alive connections by origin and local address, and which request may open or take one next.

use std::cell::RefCell;
use std::net::IpAddr;
use std::rc::Rc;

use super::message::Origin;
use super::multiplex::Multiplex;
use super::places::Places;
use crate::connection::Connection;
use crate::network::Network;

/// Limit on the origins whose connections a user keeps. Beyond it, those of the oldest origin are closed.
const ORIGINS_MAX: usize = 32;

/// The connections of one user.
#[derive(Debug, Default)]
pub(crate) struct ConnectionPool {
    origins: RefCell<Vec<Rc<OriginPool>>>,
}

/// The HTTP version of an origin that may use HTTP/2.
#[derive(Debug, Default)]
pub(crate) enum SharedConnection {
    #[default]
    Unknown,
    /// ALPN selected HTTP/1.1.
    Http1,
    /// At least one connection.
    Http2(Vec<Rc<Multiplex>>),
}

/// The connections of one user to one origin, from one local address if the requests name it.
#[derive(Debug)]
pub(crate) struct OriginPool {
    origin: Rc<Origin>,
    source: Option<IpAddr>,
    #[expect(clippy::vec_box, reason = "connections move in and out of requests' futures, which should stay small")]
    idle: RefCell<Vec<Box<Connection>>>,
    places: Places,
    /// The HTTP/2 connections, if the origin uses HTTP/2.
    pub(crate) shared: tokio::sync::Mutex<SharedConnection>,
}

impl ConnectionPool {
    /// The connections to an origin from a local address. Created if they are new.
    pub(crate) fn to(&self, origin: &Rc<Origin>, source: Option<IpAddr>) -> Rc<OriginPool> {
        let mut origins = self.origins.borrow_mut();
        let is_same = |pool: &&Rc<OriginPool>| pool.source == source && (Rc::ptr_eq(&pool.origin, origin) || pool.origin == *origin);
        if let Some(pool) = origins.iter().find(is_same) {
            return Rc::clone(pool);
        }
        if origins.len() >= ORIGINS_MAX
            && let Some(oldest) = origins.iter().position(|pool| pool.places.none_taken())
        {
            origins.remove(oldest);
        }
        let pool = Rc::new(OriginPool {
            origin: Rc::clone(origin),
            source,
            idle: RefCell::default(),
            places: Places::default(),
            shared: tokio::sync::Mutex::default(),
        });
        origins.push(Rc::clone(&pool));
        pool
    }

    pub(crate) fn close(&self) {
        for pool in &*self.origins.borrow() {
            pool.idle.borrow_mut().clear();
            if let Ok(mut shared) = pool.shared.try_lock() {
                *shared = SharedConnection::Unknown;
            }
        }
    }
}

impl OriginPool {
    /// Takes a connection slot, if fewer than `connections_max` requests are in progress.
    pub(crate) fn try_enter(self: &Rc<Self>, connections_max: usize) -> Option<ConnectionPermit> {
        self.places.limit(connections_max);
        self.places.try_enter().then(|| ConnectionPermit { pool: Rc::clone(self) })
    }

    /// Waits until another request releases its connection, in the order of the calls.
    pub(crate) async fn enter(self: &Rc<Self>) -> ConnectionPermit {
        self.places.enter().await;
        ConnectionPermit { pool: Rc::clone(self) }
    }

    /// Whether a connection is idle, or can be shared (with at most `most` connections).
    pub(crate) fn is_ready(&self, most: usize) -> bool {
        let is_shared = |shared: &SharedConnection| match shared {
            SharedConnection::Http2(open) => Multiplex::least_used(open, most).is_some(),
            _ => false,
        };
        !self.idle.borrow().is_empty() || self.shared.try_lock().is_ok_and(|shared| is_shared(&shared))
    }

    pub(crate) fn keep(&self, connection: Box<Connection>) {
        self.idle.borrow_mut().push(connection);
    }
}

/// One request's connection slot. Dropping it passes it to the next request.
#[derive(Debug)]
pub(crate) struct ConnectionPermit {
    pool: Rc<OriginPool>,
}

impl ConnectionPermit {
    /// An idle connection that is still usable, the last used first.
    pub(crate) fn take_idle(&self, network: &Network) -> Option<Box<Connection>> {
        let mut idle = self.pool.idle.borrow_mut();
        while let Some(mut connection) = idle.pop() {
            if !connection.stream.is_unusable(&mut network.scratch()) {
                return Some(connection);
            }
        }
        None
    }

    pub(crate) fn keep(&self, connection: Box<Connection>) {
        self.pool.keep(connection);
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.pool.places.leave();
    }
}
