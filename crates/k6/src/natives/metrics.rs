//! `k6/metrics`: metrics of the script. They are declared while the script is evaluated, and recorded by number.

use std::rc::Rc;

use loadstone_plan::{DeclaredMetric, MetricKind};
use rquickjs::{Coerced, Ctx, Exception, Function, Object, Value};

use crate::realm_inputs::RealmInputs;
use crate::turn::{CallTag, Turn};

pub(super) fn install<'js>(ctx: &Ctx<'js>, native: &Object<'js>, world: &RealmInputs) -> rquickjs::Result<()> {
    let (planned, declared) = (world.metrics.clone(), Rc::clone(&world.declared));
    let declare = move |ctx: Ctx<'_>, name: String, kind: String, is_time: bool| {
        let kind = match kind.as_str() {
            "trend" => MetricKind::Trend,
            "counter" => MetricKind::Counter,
            "gauge" => MetricKind::Gauge,
            _ => MetricKind::Rate,
        };
        if !is_valid(&name) {
            let problem = format!(
                "\"{name}\" is not a metric name: use 2 to 128 letters, digits and underscores, and begin with a letter or an underscore"
            );
            return Err(Exception::throw_message(&ctx, &problem));
        }
        if let Some(planned) = &planned {
            let number = planned.get(&name).copied();
            return number.ok_or_else(|| {
                Exception::throw_message(
                    &ctx,
                    &format!(
                        "the metric \"{name}\" was not declared when the test was loaded: declare it \
                at the top level of the script, under no condition"
                    ),
                )
            });
        }
        let mut declared = declared.borrow_mut();
        match declared.iter().position(|known| known.name == name) {
            Some(number) if declared[number].kind == kind => Ok(number),
            Some(_) => Err(Exception::throw_message(&ctx, &format!("the metric \"{name}\" is declared twice, with different types"))),
            None => {
                declared.push(DeclaredMetric { name, kind, unit: if is_time { "ms".to_owned() } else { String::new() } });
                Ok(declared.len() - 1)
            }
        }
    };
    native.set("declareMetric", Function::new(ctx.clone(), declare)?)?;
    native.set("addMetric", Function::new(ctx.clone(), add)?)
}

fn is_valid(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && (2..=128).contains(&name.len())
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn add<'js>(ctx: Ctx<'js>, number: usize, value: f64, tags: Option<Object<'js>>) -> rquickjs::Result<()> {
    let turn = Turn::running(&ctx, "the `add` of a metric")?;
    let tags = tags_of(tags)?;
    let of_call = call_tags(&tags);
    let tag = turn.vu().tag_of(&[], &of_call);
    turn.vu().worker.record(&mut turn.recorder(), number, value, &tag);
    Ok(())
}

/// The same tags, in the form that [`crate::turn::VuState::tag_of`] takes.
pub(super) fn call_tags(tags: &[(String, String)]) -> Vec<CallTag<'_>> {
    tags.iter().map(|(name, value)| (name.as_str(), value.as_str().into())).collect()
}

/// Tags of a call. Values are converted to strings, as in k6.
pub(super) fn tags_of(tags: Option<Object<'_>>) -> rquickjs::Result<Vec<(String, String)>> {
    let Some(tags) = tags else { return Ok(Vec::new()) };
    tags.props::<String, Value<'_>>()
        .filter(|property| !matches!(property, Ok((_, value)) if value.is_undefined() || value.is_null()))
        .map(|property| property.and_then(|(name, value)| Ok((name, value.get::<Coerced<String>>()?.0))))
        .collect()
}
