//! Which calls there are: looked up by name, once for each realm.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use loadstone_protocol::grpc::PreparedGrpcCall;
use prost_reflect::{DescriptorPool, MessageDescriptor, MethodDescriptor};
use rquickjs::{Ctx, Exception, Function, Persistent};

use super::direct::Layout;
use super::reflection::ReflectionTurn;
use super::services::Services;
use super::words;
use crate::runtime::scenario::ScenarioState;

/// A call of a service.
pub(super) struct GrpcMethod {
    /// `/package.Service/Method`.
    pub(super) path: Rc<str>,
    /// `Service/Method`: its name in reports where the script gives none.
    pub(super) name: String,
    pub(super) input: MessageDescriptor,
    pub(super) output: MessageDescriptor,
    pub(super) layout: Rc<Layout>,
    pub(super) streams_requests: bool,
    pub(super) streams_responses: bool,
    /// What goes out may hold bytes or integers beyond those of a double, which JSON has no words for.
    pub(super) input_needs_words: bool,
    pub(super) prepared: RefCell<Option<KeptCall>>,
}

/// The last call of a method that said nothing of its own beside its message.
pub(super) struct KeptCall {
    pub(super) scenario: Rc<ScenarioState>,
    /// Its time limit in nanoseconds, and whether its messages are compressed.
    pub(super) told: (u64, bool),
    pub(super) call: Rc<PreparedGrpcCall>,
}

impl GrpcMethod {
    pub(super) fn is_unary(&self) -> bool {
        !self.streams_requests && !self.streams_responses
    }
}

/// The calls that the users of one realm can make.
pub(super) struct GrpcRealm {
    services: Services,
    pub(super) reflection: ReflectionTurn,
    known: RefCell<HashMap<String, Rc<GrpcMethod>>>,
    /// `(key, value) => value`, for `JSON.stringify`.
    pub(super) words: Persistent<Function<'static>>,
}

impl GrpcRealm {
    pub(super) fn new(ctx: &Ctx<'_>) -> rquickjs::Result<Self> {
        let words = Persistent::save(ctx, words::words(ctx)?);
        Ok(Self { services: Services::declared(ctx), reflection: ReflectionTurn::default(), known: RefCell::default(), words })
    }

    /// Whether the service of this call is known, so that there is nothing to ask a server for.
    pub(super) fn knows_service(&self, name: &str) -> bool {
        self.known.borrow().contains_key(name) || service_of(name).is_none_or(|service| self.services.service(service).is_some())
    }

    /// A server has described a service.
    pub(super) fn learn(&self, pool: DescriptorPool) {
        self.services.learn(pool);
    }

    /// The call of this name, `package.Service/Method`.
    ///
    /// # Errors
    /// Throws which there are where there is none of this name.
    pub(super) fn method(&self, ctx: &Ctx<'_>, name: &str) -> rquickjs::Result<Rc<GrpcMethod>> {
        if let Some(known) = self.known.borrow().get(name) {
            return Ok(Rc::clone(known));
        }
        let found = self.services.method(name).map_err(|problem| Exception::throw_type(ctx, &problem))?;
        let method = Rc::new(self.describe(&found));
        // Their number is that of the calls which the files declare.
        self.known.borrow_mut().insert(name.to_owned(), Rc::clone(&method));
        Ok(method)
    }

    fn describe(&self, found: &MethodDescriptor) -> GrpcMethod {
        let input = found.input();
        GrpcMethod {
            path: format!("/{}/{}", found.parent_service().full_name(), found.name()).into(),
            name: self.services.shown(found),
            input_needs_words: words::needs_words(&input),
            output: found.output(),
            layout: Layout::of(&input),
            streams_requests: found.is_client_streaming(),
            streams_responses: found.is_server_streaming(),
            prepared: RefCell::default(),
            input,
        }
    }
}

/// `package.Service` of `package.Service/Method`.
pub(super) fn service_of(name: &str) -> Option<&str> {
    name.strip_prefix('/').unwrap_or(name).split_once('/').map(|(service, _)| service)
}
