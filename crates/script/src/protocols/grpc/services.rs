//! The known services: declared by a realm, described by servers, and the health check.

use std::cell::RefCell;

use prost_reflect::{DescriptorPool, MethodDescriptor, ServiceDescriptor};
use rquickjs::Ctx;

use super::known;
use crate::data::bindings::protos::DeclaredServices;

pub(crate) struct Services {
    /// Declared ones first, then those that servers have described.
    pools: RefCell<Vec<DescriptorPool>>,
}

impl Services {
    /// The services that a realm has declared so far.
    pub(crate) fn declared(ctx: &Ctx<'_>) -> Self {
        let pools = ctx.userdata::<DeclaredServices>().map(|declared| declared.0.borrow().clone()).unwrap_or_default();
        Self { pools: RefCell::new(pools) }
    }

    pub(crate) fn of(pools: Vec<DescriptorPool>) -> Self {
        Self { pools: RefCell::new(pools) }
    }

    /// Descriptors of the declared services.
    pub(crate) fn pools(&self) -> Vec<DescriptorPool> {
        self.pools.borrow().clone()
    }

    /// Adds a service that a server has described.
    pub(crate) fn learn(&self, pool: DescriptorPool) {
        self.pools.borrow_mut().push(pool);
    }

    fn all(&self) -> Vec<ServiceDescriptor> {
        self.pools.borrow().iter().chain([known::pool()]).flat_map(DescriptorPool::services).collect()
    }

    pub(crate) fn service(&self, name: &str) -> Option<ServiceDescriptor> {
        self.pools.borrow().iter().chain([known::pool()]).find_map(|pool| pool.get_service_by_name(name))
    }

    /// The method of this name, `package.Service/Method`.
    ///
    /// # Errors
    /// Names the known services or methods if there is none of this name.
    pub(crate) fn method(&self, name: &str) -> Result<MethodDescriptor, String> {
        let Some((service, method)) = name.strip_prefix('/').unwrap_or(name).split_once('/') else {
            return Err(format!("\"{name}\" is not the name of a call: write \"package.Service/Method\""));
        };
        let Some(found) = self.service(service) else {
            if self.pools.borrow().is_empty() {
                return Err(format!(
                    "no service is known for \"{name}\": declare it at the top level of the test: `proto(\"shop.proto\")`"
                ));
            }
            let names: Vec<String> = self.all().iter().map(|service| service.full_name().to_owned()).collect();
            return Err(missing(&format!("there is no service \"{service}\""), service, &names, "the services are"));
        };
        let method_named = found.methods().find(|known| known.name() == method);
        method_named.ok_or_else(|| {
            let names: Vec<String> = found.methods().map(|method| method.name().to_owned()).collect();
            missing(&format!("{service} has no call \"{method}\""), method, &names, "its calls are")
        })
    }

    /// `Service/Method`. With the package if two versions of a service would otherwise share a name.
    pub(super) fn shown(&self, found: &MethodDescriptor) -> String {
        let service = found.parent_service();
        let is_alone =
            self.all().iter().filter(|other| other.name() == service.name()).all(|other| other.full_name() == service.full_name());
        let shown = if is_alone { service.name() } else { service.full_name() };
        format!("{shown}/{}", found.name())
    }
}

fn missing(problem: &str, written: &str, known: &[String], which: &str) -> String {
    let names: Vec<&str> = known.iter().map(String::as_str).collect();
    format!("{problem}{}; {which}: {}", loadstone_units::did_you_mean(written, &names), names.join(", "))
}
