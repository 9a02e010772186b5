//! The callable methods: found by name, once for each realm.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use loadstone_protocol::grpc::PreparedGrpcCall;
use prost_reflect::{DescriptorPool, MessageDescriptor, MethodDescriptor};
use rquickjs::{Ctx, Exception, Function, Persistent};

use super::direct::Layout;
use super::reflection::ReflectionTurn;
use super::replacer;
use super::services::Services;
use crate::runtime::scenario::ScenarioState;

/// A call of a service.
pub(super) struct GrpcMethod {
    /// `/package.Service/Method`.
    pub(super) path: Rc<str>,
    /// `Service/Method`: its name in reports unless the script sets another.
    pub(super) name: String,
    pub(super) input: MessageDescriptor,
    pub(super) output: MessageDescriptor,
    pub(super) layout: Rc<Layout>,
    pub(super) streams_requests: bool,
    pub(super) streams_responses: bool,
    /// Its requests may contain bytes, or integers that a double cannot represent, which JSON cannot express.
    pub(super) input_needs_replacer: bool,
    pub(super) prepared: RefCell<Option<LastCall>>,
}

/// The last call of a method without options other than its message.
pub(super) struct LastCall {
    pub(super) scenario: Rc<ScenarioState>,
    /// Its time limit in nanoseconds, and whether its messages are compressed.
    pub(super) settings: (u64, bool),
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
    pub(super) replacer: Persistent<Function<'static>>,
}

impl GrpcRealm {
    pub(super) fn new(ctx: &Ctx<'_>) -> rquickjs::Result<Self> {
        let replacer = Persistent::save(ctx, replacer::replacer(ctx)?);
        Ok(Self { services: Services::declared(ctx), reflection: ReflectionTurn::default(), known: RefCell::default(), replacer })
    }

    /// Whether the service of this call is known, so that the server need not describe it.
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
    /// Throws the list of names if there is none of this name.
    pub(super) fn method(&self, ctx: &Ctx<'_>, name: &str) -> rquickjs::Result<Rc<GrpcMethod>> {
        if let Some(known) = self.known.borrow().get(name) {
            return Ok(Rc::clone(known));
        }
        let found = self.services.method(name).map_err(|problem| Exception::throw_type(ctx, &problem))?;
        let method = Rc::new(self.describe(&found));
        // There are as many as calls in the declared files.
        self.known.borrow_mut().insert(name.to_owned(), Rc::clone(&method));
        Ok(method)
    }

    fn describe(&self, found: &MethodDescriptor) -> GrpcMethod {
        let input = found.input();
        GrpcMethod {
            path: format!("/{}/{}", found.parent_service().full_name(), found.name()).into(),
            name: self.services.shown(found),
            input_needs_replacer: replacer::needs_replacer(&input),
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
