//! Services that the server describes (grpc/grpc, doc/server-reflection.md), which replace `.proto` files.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use bytes::Bytes;
use loadstone_protocol::grpc::{GrpcClient, GrpcReceiver, GrpcRequest, GrpcSender, GrpcStatus, PreparedGrpcCall, ReceivedGrpc};
use prost_reflect::prost::Message;
use prost_reflect::prost_types::FileDescriptorProto;
use prost_reflect::{DescriptorPool, DynamicMessage, Value};

use super::known;

/// The current name, and the one that older servers use.
const PATHS: [&str; 2] =
    ["/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"];
/// Maximum number of files that one service may need.
const FILES_MAX: usize = 1_000;

/// Why a server did not describe a service.
enum Undescribed {
    /// It does not support reflection under this name.
    Unknown,
    Failed(String),
}

/// The files of a service. `request`: the server and the metadata.
///
/// # Errors
/// The problem, as text.
pub(crate) async fn describe(client: &GrpcClient, request: GrpcRequest, service: &str, timeout_ns: u64) -> Result<DescriptorPool, String> {
    for path in PATHS {
        let request = GrpcRequest { path: path.into(), timeout_ns: Some(timeout_ns), ..request.clone() };
        match ask(client, &PreparedGrpcCall::new(request, timeout_ns), service).await {
            Ok(pool) => return Ok(pool),
            Err(Undescribed::Unknown) => {}
            Err(Undescribed::Failed(problem)) => return Err(format!("asking the server for \"{service}\" by reflection: {problem}")),
        }
    }
    Err("the server does not offer reflection: declare its services with `proto(\"….proto\")`".to_owned())
}

async fn ask(client: &GrpcClient, call: &PreparedGrpcCall, service: &str) -> Result<DescriptorPool, Undescribed> {
    let opening = client.stream(call).await;
    let (mut sender, mut receiver) = opening.opened.map_err(|failure| Undescribed::Failed(failure.message))?;
    let mut files: BTreeMap<String, FileDescriptorProto> = BTreeMap::new();
    let mut wanted: BTreeSet<String> = BTreeSet::new();
    let mut question = ("file_containing_symbol", service.to_owned());
    loop {
        for file in exchange(&mut sender, &mut receiver, question).await? {
            wanted.extend(file.dependency.iter().cloned());
            files.insert(file.name().to_owned(), file);
        }
        // Some servers omit well-known files (timestamps and similar).
        for known in wanted.iter().filter_map(|name| DescriptorPool::global().get_file_by_name(name)) {
            files.entry(known.name().to_owned()).or_insert_with(|| known.file_descriptor_proto().clone());
        }
        wanted.retain(|name| !files.contains_key(name));
        if files.len() > FILES_MAX {
            return Err(Undescribed::Failed(format!("it consists of more than {FILES_MAX} files")));
        }
        match wanted.pop_first() {
            Some(name) => question = ("file_by_filename", name),
            None => break,
        }
    }
    sender.end();
    pool_of(&files).or_else(|_| pool_of(&with_all_imports(files)))
}

fn pool_of(files: &BTreeMap<String, FileDescriptorProto>) -> Result<DescriptorPool, Undescribed> {
    let mut pool = DescriptorPool::new();
    let added = pool.add_file_descriptor_protos(files.values().cloned());
    added.map(|()| pool).map_err(|error| Undescribed::Failed(format!("its description cannot be read: {error}")))
}

/// Servers that generate their files at run time (grpc-js) omit imports: every file then imports all others.
fn with_all_imports(mut files: BTreeMap<String, FileDescriptorProto>) -> BTreeMap<String, FileDescriptorProto> {
    if !files.values().any(|file| file.package() == "google.protobuf") {
        files.extend(DescriptorPool::global().files().map(|file| (file.name().to_owned(), file.file_descriptor_proto().clone())));
    }
    let names: Vec<String> = files.keys().cloned().collect();
    for (name, file) in &mut files {
        let missing: Vec<String> = names.iter().filter(|other| *other != name && !file.dependency.contains(other)).cloned().collect();
        file.dependency.extend(missing);
    }
    files
}

/// One request and its answer.
async fn exchange(
    sender: &mut GrpcSender,
    receiver: &mut GrpcReceiver,
    (kind, text): (&str, String),
) -> Result<Vec<FileDescriptorProto>, Undescribed> {
    let failed = |problem: String| Undescribed::Failed(problem);
    let message = |name| known::pool().get_message_by_name(name).ok_or_else(|| failed(format!("{name} is not known")));
    let mut question = DynamicMessage::new(message("grpc.reflection.v1.ServerReflectionRequest")?);
    question.set_field_by_name(kind, Value::String(text));
    // If it fails, the receiver reports why.
    let _ = sender.send(&question.encode_to_vec()).await;
    let answer: Bytes = match receiver.next().await {
        Ok(ReceivedGrpc::Message { message, .. }) => message,
        Ok(ReceivedGrpc::End { status, .. }) if status == GrpcStatus::UNIMPLEMENTED => return Err(Undescribed::Unknown),
        Ok(ReceivedGrpc::End { status, details, .. }) => return Err(failed(format!("status {status} {details}"))),
        Err(failure) => return Err(failed(failure.message)),
    };
    let unreadable = |problem: &dyn std::fmt::Display| failed(format!("its answer cannot be read: {problem}"));
    let answer =
        DynamicMessage::decode(message("grpc.reflection.v1.ServerReflectionResponse")?, answer).map_err(|error| unreadable(&error))?;
    if answer.has_field_by_name("error_response") {
        let error = answer.get_field_by_name("error_response");
        let message = error.as_deref().and_then(Value::as_message).and_then(|error| error.get_field_by_name("error_message"));
        return Err(failed(message.as_deref().and_then(Value::as_str).unwrap_or("it is not known").to_owned()));
    }
    let files = answer.get_field_by_name("file_descriptor_response");
    let files = files.as_deref().and_then(Value::as_message).and_then(|files| files.get_field_by_name("file_descriptor_proto"));
    let files = files.as_deref().and_then(Value::as_list).unwrap_or_default().iter().filter_map(Value::as_bytes);
    files.map(|file| FileDescriptorProto::decode(file.clone()).map_err(|error| unreadable(&error))).collect()
}

/// One request at a time for all users of a realm: the others find the result of the first.
pub(super) type ReflectionTurn = Rc<tokio::sync::Mutex<()>>;
