//! Encodes objects of a script directly to a message, without JSON in between, for the common cases.
//!
//! It covers numbers, strings, booleans, messages and lists of them, with values that fit their fields. Everything else (bytes, enums,
//! maps, oneofs, big integers, well-known types, and values that do not fit) goes through JSON, which has the rules and the error messages.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use prost_reflect::prost::encoding::{WireType, encode_key, encode_varint};
use prost_reflect::{FieldDescriptor, Kind, MessageDescriptor};
use rquickjs::atom::PredefinedAtom;
use rquickjs::{Object, Value};

/// A double represents all smaller integers exactly.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
/// Objects that are nested deeper go through JSON.
const DEPTH_MAX: usize = 32;

/// How the fields of a message are encoded.
#[derive(Default)]
pub(super) struct Layout {
    fields: RefCell<Vec<FieldLayout>>,
}

struct FieldLayout {
    names: [String; 2],
    number: u32,
    /// `None`: goes through JSON.
    kind: Option<DirectKind>,
    is_list: bool,
    is_packed: bool,
    /// A default value is sent, too.
    has_presence: bool,
}

#[derive(Clone)]
enum DirectKind {
    Bool,
    /// Minimum and maximum.
    Int(f64, f64),
    ZigZag(f64, f64),
    Float,
    Double,
    Text,
    Message(Rc<Layout>),
}

/// Not covered here: goes through JSON.
struct NotDirect;

impl Layout {
    pub(super) fn of(message: &MessageDescriptor) -> Rc<Self> {
        Self::find(message, &mut HashMap::new())
    }

    fn find(message: &MessageDescriptor, known: &mut HashMap<String, Rc<Self>>) -> Rc<Self> {
        if let Some(layout) = known.get(message.full_name()) {
            return Rc::clone(layout);
        }
        let layout: Rc<Self> = Rc::default();
        // A message may contain itself.
        known.insert(message.full_name().to_owned(), Rc::clone(&layout));
        *layout.fields.borrow_mut() = message.fields().map(|field| FieldLayout::of(&field, known)).collect();
        layout
    }

    /// The encoded message. `None`: it goes through JSON.
    pub(super) fn encode(&self, value: &Value<'_>) -> Option<Vec<u8>> {
        let mut bytes = Vec::with_capacity(64);
        if self.write(value, &mut bytes, 0).is_err() {
            // The error of a getter. It throws again when the value goes through JSON.
            value.ctx().catch();
            return None;
        }
        Some(bytes)
    }

    fn write(&self, value: &Value<'_>, out: &mut Vec<u8>, depth: usize) -> Result<(), NotDirect> {
        let object = plain(value)?;
        if depth > DEPTH_MAX {
            return Err(NotDirect);
        }
        let fields = self.fields.borrow();
        let mut written = 0_u64;
        for property in object.props::<String, Value<'_>>() {
            let (name, value) = property.map_err(|_| NotDirect)?;
            if value.is_undefined() {
                continue;
            }
            let place = fields.iter().position(|field| field.names.contains(&name)).filter(|place| *place < 64).ok_or(NotDirect)?;
            // Present under both of its names.
            if written & 1 << place != 0 {
                return Err(NotDirect);
            }
            written |= 1 << place;
            fields[place].write(&value, out, depth)?;
        }
        Ok(())
    }
}

/// An object that JSON would convert unchanged.
fn plain<'a, 'js>(value: &'a Value<'js>) -> Result<&'a Object<'js>, NotDirect> {
    let object = value.as_object().filter(|_| !value.is_array() && !value.is_function()).ok_or(NotDirect)?;
    let to_json: Value<'_> = object.get(PredefinedAtom::ToJSON).map_err(|_| NotDirect)?;
    if to_json.is_undefined() { Ok(object) } else { Err(NotDirect) }
}

impl FieldLayout {
    fn of(field: &FieldDescriptor, known: &mut HashMap<String, Rc<Layout>>) -> Self {
        let is_one_of_many = field.containing_oneof().is_some_and(|of| of.fields().len() > 1);
        let is_direct = !is_one_of_many && !field.is_map() && !field.is_group() && !field.is_required();
        Self {
            names: [field.json_name().to_owned(), field.name().to_owned()],
            number: field.number(),
            kind: if is_direct { DirectKind::of(&field.kind(), known) } else { None },
            is_list: field.is_list(),
            is_packed: field.is_packed(),
            has_presence: field.supports_presence(),
        }
    }

    fn write(&self, value: &Value<'_>, out: &mut Vec<u8>, depth: usize) -> Result<(), NotDirect> {
        let kind = self.kind.as_ref().ok_or(NotDirect)?;
        if !self.is_list {
            return self.write_one(kind, value, self.has_presence, out, depth);
        }
        let list = value.as_array().ok_or(NotDirect)?;
        if !self.is_packed {
            return list.iter::<Value<'_>>().try_for_each(|item| self.write_one(kind, &item.map_err(|_| NotDirect)?, true, out, depth));
        }
        if list.is_empty() {
            return Ok(());
        }
        let mut packed = Vec::new();
        for item in list.iter::<Value<'_>>() {
            kind.write(&item.map_err(|_| NotDirect)?, &mut packed, depth)?;
        }
        encode_key(self.number, WireType::LengthDelimited, out);
        encode_varint(packed.len() as u64, out);
        out.extend_from_slice(&packed);
        Ok(())
    }

    /// With its key. `always`: also if it is the default.
    fn write_one(&self, kind: &DirectKind, value: &Value<'_>, always: bool, out: &mut Vec<u8>, depth: usize) -> Result<(), NotDirect> {
        let start = out.len();
        encode_key(self.number, kind.wire_type(), out);
        let is_default = kind.write(value, out, depth)?;
        if is_default && !always {
            out.truncate(start);
        }
        Ok(())
    }
}

impl DirectKind {
    fn of(kind: &Kind, known: &mut HashMap<String, Rc<Layout>>) -> Option<Self> {
        Some(match kind {
            Kind::Bool => Self::Bool,
            Kind::Int32 => Self::Int(f64::from(i32::MIN), f64::from(i32::MAX)),
            Kind::Int64 => Self::Int(-EXACT_MAX, EXACT_MAX),
            Kind::Uint32 => Self::Int(0.0, f64::from(u32::MAX)),
            Kind::Uint64 => Self::Int(0.0, EXACT_MAX),
            Kind::Sint32 => Self::ZigZag(f64::from(i32::MIN), f64::from(i32::MAX)),
            Kind::Sint64 => Self::ZigZag(-EXACT_MAX, EXACT_MAX),
            Kind::Float => Self::Float,
            Kind::Double => Self::Double,
            Kind::String => Self::Text,
            Kind::Message(inner) if !inner.full_name().starts_with("google.protobuf.") => Self::Message(Layout::find(inner, known)),
            _ => return None,
        })
    }

    fn wire_type(&self) -> WireType {
        match self {
            Self::Bool | Self::Int(..) | Self::ZigZag(..) => WireType::Varint,
            Self::Float => WireType::ThirtyTwoBit,
            Self::Double => WireType::SixtyFourBit,
            Self::Text | Self::Message(_) => WireType::LengthDelimited,
        }
    }

    /// Without its key. Returns whether it is the default of its type.
    fn write(&self, value: &Value<'_>, out: &mut Vec<u8>, depth: usize) -> Result<bool, NotDirect> {
        match self {
            Self::Bool => {
                let value = value.as_bool().ok_or(NotDirect)?;
                out.push(u8::from(value));
                Ok(!value)
            }
            Self::Int(least, most) => {
                let value = integer(value, *least, *most)?;
                // Negative numbers are encoded as the two's complement of 64 bits, also those of 32 bits ("Encoding", Protocol Buffers).
                encode_varint(value.cast_unsigned(), out);
                Ok(value == 0)
            }
            Self::ZigZag(least, most) => {
                let value = integer(value, *least, *most)?;
                encode_varint((value << 1 ^ value >> 63).cast_unsigned(), out);
                Ok(value == 0)
            }
            Self::Float => {
                let value = number(value)?;
                let narrow = value as f32;
                if value.is_finite() && !narrow.is_finite() {
                    return Err(NotDirect);
                }
                out.extend_from_slice(&narrow.to_le_bytes());
                // Only positive zero is the default ("Field Presence", Protocol Buffers).
                Ok(narrow.to_bits() == 0)
            }
            Self::Double => {
                let value = number(value)?;
                out.extend_from_slice(&value.to_le_bytes());
                Ok(value.to_bits() == 0)
            }
            Self::Text => {
                let text = value.as_string().ok_or(NotDirect)?.to_string().map_err(|_| NotDirect)?;
                encode_varint(text.len() as u64, out);
                out.extend_from_slice(text.as_bytes());
                Ok(text.is_empty())
            }
            Self::Message(layout) => {
                let mut inner = Vec::new();
                layout.write(value, &mut inner, depth + 1)?;
                encode_varint(inner.len() as u64, out);
                out.extend_from_slice(&inner);
                Ok(false)
            }
        }
    }
}

fn number(value: &Value<'_>) -> Result<f64, NotDirect> {
    value.as_int().map(f64::from).or_else(|| value.as_float()).ok_or(NotDirect)
}

fn integer(value: &Value<'_>, least: f64, most: f64) -> Result<i64, NotDirect> {
    let number = number(value)?;
    if number.fract() == 0.0 && (least..=most).contains(&number) { Ok(number as i64) } else { Err(NotDirect) }
}

#[cfg(test)]
mod tests {
    use prost_reflect::{DescriptorPool, DynamicMessage};
    use protox::file::{File, FileResolver};
    use rquickjs::{Context, Ctx, Runtime};

    use super::super::json::{of_json, to_json};
    use super::super::replacer;
    use super::*;

    const FILE: &str = r#"
        syntax = "proto3";
        package t;
        import "google/protobuf/duration.proto";
        enum Colour { NONE = 0; RED = 1; }
        message Inner { int32 deep = 1; Inner inner = 2; repeated string words = 3; }
        message All {
          bool yes = 1; int32 small = 2; int64 large = 3; uint32 natural = 4; uint64 counted = 5; sint32 signed_small = 6; sint64 signed_large = 7;
          float rough = 8; double exact = 9; string text = 10; Inner inner = 11; repeated int64 numbers = 12; repeated Inner inners = 13;
          repeated bool flags = 14; optional int32 given = 15; bytes raw = 16; Colour colour = 17; map<string, int32> counts = 18;
          oneof choice { int32 first = 19; string second = 20; } google.protobuf.Duration time = 21; repeated sint32 zigs = 22;
          repeated double exacts = 23 [packed = false];
        }"#;

    struct One;

    impl FileResolver for One {
        fn open_file(&self, name: &str) -> Result<File, protox::Error> {
            match name {
                "t.proto" => File::from_source(name, FILE),
                _ => protox::file::GoogleFileResolver::new().open_file(name),
            }
        }
    }

    fn all() -> MessageDescriptor {
        let mut compiler = protox::Compiler::with_file_resolver(One);
        compiler.open_file("t.proto").unwrap();
        let pool: DescriptorPool = compiler.descriptor_pool();
        pool.get_message_by_name("t.All").unwrap()
    }

    /// The message by way of JSON. `None` if JSON rejects it.
    fn by_json<'js>(ctx: &Ctx<'js>, message: &MessageDescriptor, value: &Value<'js>) -> Option<DynamicMessage> {
        let replacer = replacer::replacer(ctx).unwrap();
        let json = to_json(ctx, (message, Some(replacer)), "t", value).ok()?;
        let bytes = of_json(message, &json).ok()?;
        Some(DynamicMessage::decode(message.clone(), bytes.as_slice()).unwrap())
    }

    fn with_script(test: impl FnOnce(&Ctx<'_>)) {
        let runtime = Runtime::new().unwrap();
        Context::full(&runtime).unwrap().with(|ctx| test(&ctx));
    }

    #[test]
    fn the_message_equals_that_of_json() {
        let message = all();
        let layout = Layout::of(&message);
        with_script(|ctx| {
            for text in [
                "{}",
                "{ yes: true, small: -7, large: 9007199254740991, natural: 4294967295, counted: 12, signedSmall: -8, signed_large: -9e15 }",
                "{ yes: false, small: 0, text: '', exact: 0, rough: 0, given: 0 }",
                "{ rough: 1.5, exact: -2.25e300, text: 'Grüße \\u{1f600}\\0 \"quoted\"' }",
                "{ inner: { deep: 3, inner: { inner: {}, words: ['a', '', 'b'] } }, inners: [{}, { deep: 0 }, { deep: 1 }] }",
                "{ numbers: [1, -1, 0, 1e12], flags: [true, false], zigs: [-1, 1, 2147483647], exacts: [0, 1.5] }",
                "{ numbers: [], inners: [], text: undefined }",
            ] {
                let value: Value<'_> = ctx.eval(format!("({text})")).unwrap();
                let direct = layout.encode(&value).unwrap_or_else(|| panic!("{text} is not direct"));
                let direct = DynamicMessage::decode(message.clone(), direct.as_slice()).unwrap();
                assert_eq!(Some(direct), by_json(ctx, &message, &value), "{text}");
            }
        });
    }

    /// The specification of Protocol Buffers has them in both forms.
    #[test]
    fn doubles_that_are_not_finite_are_sent_directly_and_through_json() {
        let message = all();
        let layout = Layout::of(&message);
        with_script(|ctx| {
            for (text, check) in [
                ("NaN", f64::is_nan as fn(f64) -> bool),
                ("Infinity", |value| value == f64::INFINITY),
                ("-Infinity", |value| value == f64::NEG_INFINITY),
                ("-0", |value| value == 0.0 && value.is_sign_negative()),
            ] {
                let value: Value<'_> = ctx.eval(format!("({{ rough: {text}, exact: {text}, exacts: [{text}] }})")).unwrap();
                let direct = layout.encode(&value).unwrap_or_else(|| panic!("{text} is not direct"));
                let direct = DynamicMessage::decode(message.clone(), direct.as_slice()).unwrap();
                let by_json = by_json(ctx, &message, &value).unwrap();
                for (way, message) in [("direct", direct), ("json", by_json)] {
                    if text == "-0" && way == "json" {
                        // JSON.stringify has no negative zero.
                        continue;
                    }
                    assert!(check(message.get_field_by_name("exact").unwrap().as_f64().unwrap()), "{text} {way}");
                    assert!(check(f64::from(message.get_field_by_name("rough").unwrap().as_f32().unwrap())), "{text} {way}");
                    assert!(check(message.get_field_by_name("exacts").unwrap().as_list().unwrap()[0].as_f64().unwrap()), "{text} {way}");
                }
            }
        });
    }

    #[test]
    fn bigints_of_any_size_reach_their_field_or_are_refused_by_name() {
        let message = all();
        with_script(|ctx| {
            let encoded = |text: &str| {
                let value: Value<'_> = ctx.eval(format!("({text})")).unwrap();
                let json = to_json(ctx, (&message, Some(replacer::replacer(ctx).unwrap())), "t", &value).unwrap();
                of_json(&message, &json).map(|bytes| DynamicMessage::decode(message.clone(), bytes.as_slice()).unwrap())
            };
            let most = encoded("{ counted: 18446744073709551615n }").unwrap();
            assert_eq!(most.get_field_by_name("counted").unwrap().as_u64(), Some(u64::MAX));
            let least = encoded("{ large: -9223372036854775808n }").unwrap();
            assert_eq!(least.get_field_by_name("large").unwrap().as_i64(), Some(i64::MIN));
            for (text, problem) in [
                (
                    "{ counted: 18446744073709551616n }",
                    "message.counted is \"18446744073709551616\", which does not fit uint64 (0 to 18446744073709551615)",
                ),
                ("{ counted: -1 }", "message.counted is -1, which does not fit uint64 (0 to 18446744073709551615)"),
                ("{ numbers: [1n, 9223372036854775808n] }", "message.numbers[1] is \"9223372036854775808\", which does not fit int64"),
                ("{ small: 2147483648 }", "message.small is 2147483648, which does not fit int32 (-2147483648 to 2147483647)"),
                ("{ small: NaN }", "message.small is \"NaN\", expected a whole number (int32)"),
                ("{ numbers: ['1e2'] }", "message.numbers[0] is \"1e2\", expected a whole number (int64)"),
                ("{ rough: 1e39 }", "message.rough is 1e+39, which does not fit a float"),
                ("{ inner: { words: ['ok', 'a\\ud800b'] } }", "message.inner.words[1] has half of a surrogate pair"),
            ] {
                let refused = encoded(text).unwrap_err();
                assert!(refused.starts_with(problem), "{text}: {refused}");
            }
        });
    }

    #[test]
    fn special_values_go_through_json() {
        let layout = Layout::of(&all());
        with_script(|ctx| {
            for text in [
                "{ raw: new Uint8Array([1]) }",
                "{ colour: 'RED' }",
                "{ counts: { a: 1 } }",
                "{ first: 1 }",
                "{ time: '1.5s' }",
                "{ large: 12n }",
                "{ large: '12' }",
                "{ large: 1e17 }",
                "{ small: 1.5 }",
                "{ small: 2147483648 }",
                "{ natural: -1 }",
                "{ rough: 1e39 }",
                "{ numbers: [NaN] }",
                "{ large: Infinity }",
                "{ text: null }",
                "{ text: 5 }",
                "{ yes: 1 }",
                "{ numbers: 1 }",
                "{ numbers: [undefined] }",
                "{ misspelt: 1 }",
                "{ signedSmall: 1, signed_small: 2 }",
                "{ inner: { toJSON() { return {}; } } }",
                "{ inner: [] }",
                "{ inner: new Date(0) }",
                "{ get text() { throw new Error('no'); } }",
                "5",
                "[]",
                "undefined",
                "() => 1",
            ] {
                let value: Value<'_> = ctx.eval(format!("({text})")).unwrap();
                assert!(layout.encode(&value).is_none(), "{text}");
            }
        });
    }
}
