//! Files of other tools that are imported. The first byte selects the format.

#![no_main]

use loadstone_import::{Choices, Format, Input, import};

const FORMATS: [Format; 6] = [Format::Har, Format::OpenApi, Format::Postman, Format::Curl, Format::GatlingRecorder, Format::Jmeter];

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((first, text)) = input.split_first() else { return };
    let choices = Choices { pauses: true, assets: true, all_hosts: true };
    let input = Input { name: "in", text: &String::from_utf8_lossy(text), folder: "", read: &|_| None, choices };
    // A file that cannot be read is an error.
    let _ = import(FORMATS[usize::from(*first) % FORMATS.len()], &input);
});
