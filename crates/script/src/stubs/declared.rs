//! Reads the stubs of a test file: what it declares of each, and where each listens.

use std::cell::RefCell;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use loadstone_plan::TestPlan;
use loadstone_stub::StubSpec;
use rquickjs::{Ctx, Exception, Function, Object};

use super::kinds::kind_of;
use crate::data::files::FileBytes;
use crate::error::ScriptError;
use crate::inbound::DeclaredStub;
use crate::permissions::{AccessKind, FileAccess};
use crate::protocols::grpc::services::Services;
use crate::realm::Realm;

/// The stubs of a plan, checked.
///
/// # Errors
/// Names the stub and the part that is wrong.
pub(crate) fn stubs(
    plan: &TestPlan,
    addresses: &Addresses,
    (folder, access): (&Path, &FileAccess),
    services: &Services,
) -> Result<Vec<DeclaredStub>, ScriptError> {
    let mut all: Vec<DeclaredStub> = Vec::new();
    for (number, (description, (url, listener))) in plan.stubs.iter().zip(addresses.borrow_mut().drain(..)).enumerate() {
        let mut description = description.clone();
        let kind = kind_of(&mut description).map_err(|problem| ScriptError::new(format!("stub number {}: {problem}", number + 1)))?;
        let wrong = |problem: String| ScriptError::new(format!("{}, stub number {}: {problem}", kind.call, number + 1));
        let read = |file: &str| {
            let path = folder.join(file);
            access.check(AccessKind::Read, &path).map_err(|refused| refused.to_string())?;
            let content = FileBytes::read(&path).map_err(|error| error.to_string())?;
            content.text().map(str::to_owned).ok_or_else(|| format!("{file} is not text"))
        };
        let protocol = (kind.read)(description, services, &read).map_err(wrong)?;
        let declared = DeclaredStub::new(protocol, url, listener);
        let name = declared.name(number);
        if all.iter().enumerate().any(|(earlier, other)| other.name(earlier) == name) {
            return Err(wrong(format!("another stub has the name \"{name}\" as well: set another `name`")));
        }
        all.push(declared);
    }
    Ok(all)
}

/// The URLs and sockets of a file's stubs, in the order of their declaration, while the file is planned.
pub(crate) type Addresses = Rc<RefCell<Vec<(String, Option<TcpListener>)>>>;

/// Puts `stub(number, listen, tls)`, which returns the URL, on the native object of the realm that plans. A stub on any free port already
/// listens here, so that its URL is known everywhere from the start. `elsewhere`: URLs of stubs that another machine starts.
pub(crate) fn install_for_planning<'js>(
    ctx: &Ctx<'js>,
    native: &Object<'js>,
    elsewhere: &Option<Vec<String>>,
) -> rquickjs::Result<Addresses> {
    let addresses = Addresses::default();
    let known = Rc::clone(&addresses);
    let elsewhere = elsewhere.clone();
    let place = move |ctx: Ctx<'js>, number: usize, listen: String, tls: bool, what: String| -> rquickjs::Result<String> {
        if let Some(urls) = &elsewhere {
            let known_url = urls.get(number).cloned().unwrap_or_default();
            known.borrow_mut().push((known_url.clone(), None));
            return Ok(known_url);
        }
        let wrong = |problem: String| Exception::throw_message(&ctx, &format!("{what} listen: {problem}"));
        let spec = StubSpec { listen, ..StubSpec::default() };
        let mut address: SocketAddr = spec.address().map_err(|problem| wrong(problem.to_string()))?;
        let listener = match address.port() {
            0 => Some(TcpListener::bind(address).map_err(|problem| wrong(problem.to_string()))?),
            _ => None,
        };
        if let Some(bound) = listener.as_ref().and_then(|listener| listener.local_addr().ok()) {
            address = bound;
        }
        let url = format!("{}://{address}", if tls { "https" } else { "http" });
        known.borrow_mut().push((url.clone(), listener));
        Ok(url)
    };
    native.set("stub", Function::new(ctx.clone(), place)?)?;
    Ok(addresses)
}

/// The test file of a running realm has been evaluated: nothing more can be declared.
pub(crate) fn seal(realm: &Realm) -> rquickjs::Result<()> {
    realm.enter(|ctx| {
        let native: Object<'_> = ctx.globals().get("__loadstone")?;
        native.get::<_, Object<'_>>("declared")?.set("sealed", true)
    })
}

/// The same for realms that run: the addresses are those of the plan.
pub(crate) fn install_for_running<'js>(
    ctx: &Ctx<'js>,
    native: &Object<'js>,
    stubs: &Arc<[DeclaredStub]>,
    plan: &TestPlan,
) -> rquickjs::Result<()> {
    let declared = Object::new(ctx.clone())?;
    declared.set("flows", plan.flows.len())?;
    declared.set("metrics", plan.metrics.len())?;
    native.set("declared", declared)?;
    let stubs = Arc::clone(stubs);
    let url = move |ctx: Ctx<'js>, number: usize| {
        let found = stubs.get(number).map(|stub| stub.url().to_owned());
        found.ok_or_else(|| Exception::throw_message(&ctx, "declare stubs at the top level of the test, outside scenarios"))
    };
    native.set("stub", Function::new(ctx.clone(), url)?)
}
