//! A stub as a test file declares it, whichever protocol it speaks.

use std::cell::RefCell;
use std::fmt::Debug;
use std::net::{SocketAddr, TcpListener};
use std::rc::Rc;
use std::sync::Mutex;

use loadstone_stub::{Reply, Server, StubError, StubRequest, StubWiring};
use rquickjs::{Ctx, Value};

use crate::extract::cache::Compiled;

/// A stub's protocol, with the checked specification of one stub.
pub(crate) trait StubProtocol: Debug + Send + Sync {
    /// The name that the test file gives the stub.
    fn name(&self) -> Option<&str>;

    /// Where it listens.
    ///
    /// # Errors
    /// The address cannot be parsed.
    fn address(&self) -> Result<SocketAddr, StubError>;

    /// Whether a function of the test file answers any of its requests.
    fn has_functions(&self) -> bool;

    /// Its endpoints, by the number that [`loadstone_stub::Call::route`] has.
    fn endpoints(&self) -> Vec<Box<dyn StubEndpoint>>;

    /// Starts the server.
    ///
    /// # Errors
    /// The address is not free, or the specification is wrong.
    fn start_at(&self, wiring: StubWiring) -> Result<Server, StubError>;
}

/// An endpoint whose requests a function of the test file may answer.
pub(crate) trait StubEndpoint {
    /// For messages.
    fn name(&self) -> &str;

    /// The object that the function receives.
    fn received<'js>(&self, ctx: &Ctx<'js>, request: StubRequest, compiled: &Rc<RefCell<Compiled>>) -> rquickjs::Result<Value<'js>>;

    /// Reads the function's answer, which the protocol's TypeScript has already checked. `draw` yields random numbers for delays.
    ///
    /// # Errors
    /// Throws where a value is out of range.
    fn read<'js>(&self, ctx: &Ctx<'js>, value: &Value<'js>, draw: &mut dyn FnMut() -> u64) -> rquickjs::Result<Reply>;
}

/// A stub of a test file.
#[derive(Debug)]
pub(crate) struct DeclaredStub {
    pub(crate) protocol: Box<dyn StubProtocol>,
    /// Without a trailing slash.
    url: String,
    /// A stub on any free port listens from the moment that its address is known.
    listener: Mutex<Option<TcpListener>>,
}

impl DeclaredStub {
    pub(crate) fn new(protocol: Box<dyn StubProtocol>, url: String, listener: Option<TcpListener>) -> Self {
        Self { protocol, url, listener: Mutex::new(listener) }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Takes the socket that already listens. A second run of the same file opens its own.
    pub(crate) fn listener(&self) -> Option<TcpListener> {
        // No code panics while it holds this lock.
        self.listener.lock().ok()?.take()
    }

    /// The `NAME` in `stub:NAME`, which its signals are called. `number` is its position in the test file, from 0.
    pub(crate) fn name(&self, number: usize) -> String {
        let port = self.protocol.address().map_or(0, |address| address.port());
        let unnamed = || if port > 0 { port.to_string() } else { (number + 1).to_string() };
        self.protocol.name().map_or_else(unnamed, str::to_owned)
    }
}
