//! Messages of gRPC and the status of a call.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| loadstone_protocol::fuzzing::grpc(input));
