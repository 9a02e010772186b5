//! Which calls there are: looked up by name, once for each realm.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use prost_reflect::{DescriptorPool, MessageDescriptor, MethodDescriptor, ServiceDescriptor};
use rquickjs::{Ctx, Exception, Function, Persistent};

use super::reflection::ReflectionTurn;
use super::{known, words};
use crate::data::bindings::protos::DeclaredServices;

/// A call of a service.
pub(super) struct GrpcMethod {
    /// `/package.Service/Method`.
    pub(super) path: Rc<str>,
    /// `Service/Method`: its name in reports where the script gives none.
    pub(super) name: String,
    pub(super) input: MessageDescriptor,
    pub(super) output: MessageDescriptor,
    pub(super) streams_requests: bool,
    pub(super) streams_responses: bool,
    /// What goes out may hold bytes or integers beyond those of a double, which JSON has no words for.
    pub(super) input_needs_words: bool,
}

impl GrpcMethod {
    pub(super) fn is_unary(&self) -> bool {
        !self.streams_requests && !self.streams_responses
    }
}

/// The calls that the users of one realm can make.
pub(super) struct GrpcRealm {
    /// Declared ones first, then those that servers have described.
    pools: RefCell<Vec<DescriptorPool>>,
    pub(super) reflection: ReflectionTurn,
    known: RefCell<HashMap<String, Rc<GrpcMethod>>>,
    /// `(key, value) => value`, for `JSON.stringify`.
    pub(super) words: Persistent<Function<'static>>,
}

impl GrpcRealm {
    pub(super) fn new(ctx: &Ctx<'_>) -> rquickjs::Result<Self> {
        let pools = ctx.userdata::<DeclaredServices>().map(|declared| declared.0.borrow().clone()).unwrap_or_default();
        let words = Persistent::save(ctx, words::words(ctx)?);
        Ok(Self { pools: RefCell::new(pools), reflection: ReflectionTurn::default(), known: RefCell::default(), words })
    }

    /// Whether the service of this call is known, so that there is nothing to ask a server for.
    pub(super) fn knows_service(&self, name: &str) -> bool {
        self.known.borrow().contains_key(name) || service_of(name).is_none_or(|service| self.service(service).is_some())
    }

    /// A server has described a service.
    pub(super) fn learn(&self, pool: DescriptorPool) {
        self.pools.borrow_mut().push(pool);
    }

    /// The call of this name, `package.Service/Method`.
    ///
    /// # Errors
    /// Throws which there are where there is none of this name.
    pub(super) fn method(&self, ctx: &Ctx<'_>, name: &str) -> rquickjs::Result<Rc<GrpcMethod>> {
        if let Some(known) = self.known.borrow().get(name) {
            return Ok(Rc::clone(known));
        }
        let found = self.find(name).map_err(|problem| Exception::throw_type(ctx, &problem))?;
        let method = Rc::new(self.describe(&found));
        // Their number is that of the calls which the files declare.
        self.known.borrow_mut().insert(name.to_owned(), Rc::clone(&method));
        Ok(method)
    }

    fn services(&self) -> Vec<ServiceDescriptor> {
        self.pools.borrow().iter().chain([known::pool()]).flat_map(DescriptorPool::services).collect()
    }

    fn service(&self, name: &str) -> Option<ServiceDescriptor> {
        self.pools.borrow().iter().chain([known::pool()]).find_map(|pool| pool.get_service_by_name(name))
    }

    fn find(&self, name: &str) -> Result<MethodDescriptor, String> {
        let Some((service, method)) = name.strip_prefix('/').unwrap_or(name).split_once('/') else {
            return Err(format!("\"{name}\" is not the name of a call: write \"package.Service/Method\""));
        };
        let Some(found) = self.service(service) else {
            if self.pools.borrow().is_empty() {
                return Err(format!(
                    "no service is known for \"{name}\": declare it at the top level of the test: `proto(\"shop.proto\")`"
                ));
            }
            let names: Vec<String> = self.services().iter().map(|service| service.full_name().to_owned()).collect();
            return Err(missing(&format!("there is no service \"{service}\""), service, &names, "the services are"));
        };
        let method_named = found.methods().find(|known| known.name() == method);
        method_named.ok_or_else(|| {
            let names: Vec<String> = found.methods().map(|method| method.name().to_owned()).collect();
            missing(&format!("{service} has no call \"{method}\""), method, &names, "its calls are")
        })
    }

    fn describe(&self, found: &MethodDescriptor) -> GrpcMethod {
        let service = found.parent_service();
        // Two versions of a service must not become one name.
        let is_alone =
            self.services().iter().filter(|other| other.name() == service.name()).all(|other| other.full_name() == service.full_name());
        let shown = if is_alone { service.name() } else { service.full_name() };
        let input = found.input();
        GrpcMethod {
            path: format!("/{}/{}", service.full_name(), found.name()).into(),
            name: format!("{shown}/{}", found.name()),
            input_needs_words: words::needs_words(&input),
            output: found.output(),
            streams_requests: found.is_client_streaming(),
            streams_responses: found.is_server_streaming(),
            input,
        }
    }
}

/// `package.Service` of `package.Service/Method`.
pub(super) fn service_of(name: &str) -> Option<&str> {
    name.strip_prefix('/').unwrap_or(name).split_once('/').map(|(service, _)| service)
}

fn missing(problem: &str, written: &str, known: &[String], which: &str) -> String {
    let names: Vec<&str> = known.iter().map(String::as_str).collect();
    format!("{problem}{}; {which}: {}", units::did_you_mean(written, &names), names.join(", "))
}
