//! `random` and `user.random`.

use std::cell::{RefCell, RefMut};
use std::rc::Rc;

use loadstone_stub::Delay;
use rquickjs::class::Trace;
use rquickjs::function::Opt;
use rquickjs::{Array, Class, Coerced, Ctx, Exception, JsLifetime, Object, Result, TypedArray, Value};

use crate::data::draws::{DrawStream, Draws};

/// A stream of draws that several owners share: a user's pauses and its `user.random`.
#[derive(Debug, Clone)]
pub(crate) struct RandomHandle(Rc<RefCell<Drawing>>);

#[derive(Debug)]
struct Drawing {
    seed: u64,
    stream: DrawStream,
    /// Created for the first draw: most iterations draw nothing.
    draws: Option<Draws>,
}

impl RandomHandle {
    pub(crate) fn new(seed: u64, stream: DrawStream) -> Self {
        Self(Rc::new(RefCell::new(Drawing { seed, stream, draws: None })))
    }

    /// Begins another stream for the same user's next iteration.
    pub(crate) fn restart(&self, stream: DrawStream) {
        let mut drawing = self.0.borrow_mut();
        drawing.stream = stream;
        drawing.draws = None;
    }

    /// No code that draws calls back into a script, so the stream is never borrowed twice.
    pub(crate) fn draws(&self) -> RefMut<'_, Draws> {
        RefMut::map(self.0.borrow_mut(), |drawing| drawing.draws.get_or_insert_with(|| Draws::new(drawing.seed, drawing.stream)))
    }

    /// The object that scripts see as `random`.
    pub(crate) fn object<'js>(&self, ctx: &Ctx<'js>) -> Result<Class<'js, RandomObject>> {
        Class::instance(ctx.clone(), RandomObject::new(self.clone()))
    }
}

#[derive(Trace, JsLifetime)]
#[rquickjs::class(rename = "Random")]
pub(crate) struct RandomObject {
    #[qjs(skip_trace)]
    handle: RandomHandle,
}

impl RandomObject {
    pub(super) fn new(handle: RandomHandle) -> Self {
        Self { handle }
    }
}

/// Maximum length of a string or of bytes.
const LENGTH_MAX: usize = 64 << 20;
const ALPHABET: &str = "abcdefghijklmnopqrstuvwxyz0123456789";

#[rquickjs::methods(rename_all = "camelCase")]
impl RandomObject {
    fn number(&self) -> f64 {
        self.handle.draws().unit()
    }

    fn between(&self, ctx: Ctx<'_>, min: f64, max: f64) -> Result<f64> {
        if !(min <= max && (max - min).is_finite()) {
            return Err(wrong(&ctx, &format!("random.between({min}, {max}): the first number must be the lower one")));
        }
        Ok(min + (max - min) * self.handle.draws().unit())
    }

    fn integer(&self, ctx: Ctx<'_>, min: f64, max: f64) -> Result<f64> {
        const SAFE: f64 = 9_007_199_254_740_991.0;
        let whole = |number: f64| number.fract() == 0.0 && number.abs() <= SAFE;
        if !(min <= max && whole(min) && whole(max)) {
            return Err(wrong(&ctx, &format!("random.integer({min}, {max}): expected two whole numbers, the lower one first")));
        }
        Ok((min as i64 + self.handle.draws().below((max as i64 - min as i64) as u64 + 1) as i64) as f64)
    }

    fn boolean(&self, ctx: Ctx<'_>, probability: Opt<Value<'_>>) -> Result<bool> {
        let share = match probability.0.filter(|value| !value.is_undefined()) {
            None => 0.5,
            Some(value) => share(&value)
                .ok_or_else(|| wrong(&ctx, "random.boolean(probability): expected a number from 0 to 1, or a string such as \"20%\""))?,
        };
        Ok(self.handle.draws().unit() < share)
    }

    fn choice<'js>(&self, ctx: Ctx<'js>, list: Array<'js>) -> Result<Value<'js>> {
        if list.is_empty() {
            return Err(wrong(&ctx, "random.choice(list): the list is empty"));
        }
        let index = self.handle.draws().below(list.len() as u64);
        list.get(index as usize)
    }

    fn weighted<'js>(&self, ctx: Ctx<'js>, weights: Object<'js>) -> Result<String> {
        let weights: Vec<(String, f64)> = weights.props::<String, f64>().collect::<Result<_>>()?;
        let total: f64 = weights.iter().map(|(_, weight)| weight).sum();
        let valid = total > 0.0 && total.is_finite() && weights.iter().all(|(_, weight)| *weight >= 0.0);
        if !valid {
            return Err(wrong(&ctx, "random.weighted(weights): weights must not be negative, and at least one must be above zero"));
        }
        let mut left = self.handle.draws().unit() * total;
        let mut chosen = None;
        for (name, weight) in weights.into_iter().filter(|(_, weight)| *weight > 0.0) {
            chosen = Some(name);
            left -= weight;
            if left < 0.0 {
                break;
            }
        }
        // One weight is above zero.
        Ok(chosen.unwrap_or_default())
    }

    fn shuffle<'js>(&self, ctx: Ctx<'js>, list: Array<'js>) -> Result<Array<'js>> {
        let mut items: Vec<Value<'js>> = list.iter().collect::<Result<_>>()?;
        self.handle.draws().shuffle(&mut items);
        let shuffled = Array::new(ctx)?;
        for (index, item) in items.into_iter().enumerate() {
            shuffled.set(index, item)?;
        }
        Ok(shuffled)
    }

    fn string(&self, ctx: Ctx<'_>, length: f64, alphabet: Opt<Option<String>>) -> Result<String> {
        let length = size(&ctx, length, "random.string(length)")?;
        let alphabet: Vec<char> = alphabet.0.flatten().as_deref().unwrap_or(ALPHABET).chars().collect();
        if alphabet.is_empty() {
            return Err(wrong(&ctx, "random.string(length, alphabet): the alphabet is empty"));
        }
        let mut draws = self.handle.draws();
        Ok((0..length).map(|_| alphabet[draws.below(alphabet.len() as u64) as usize]).collect())
    }

    fn bytes<'js>(&self, ctx: Ctx<'js>, count: f64) -> Result<TypedArray<'js, u8>> {
        let mut bytes = vec![0; size(&ctx, count, "random.bytes(count)")?];
        self.handle.draws().fill(&mut bytes);
        TypedArray::new(ctx, bytes)
    }

    fn uuid(&self) -> String {
        self.handle.draws().uuid()
    }

    fn normal(&self, mean: f64, deviation: f64) -> f64 {
        mean + deviation * self.handle.draws().normal()
    }

    fn exponential(&self, mean: f64) -> f64 {
        mean * self.handle.draws().exponential()
    }

    /// Milliseconds.
    fn delay(&self, ctx: Ctx<'_>, delay: String) -> Result<f64> {
        let delay: Delay = delay.parse().map_err(|error: loadstone_stub::DelayError| wrong(&ctx, &error.to_string()))?;
        let mut draws = self.handle.draws();
        Ok(delay.sample_ns(|| draws.bits()) as f64 / 1e6)
    }
}

fn wrong(ctx: &Ctx<'_>, message: &str) -> rquickjs::Error {
    Exception::throw_range(ctx, message)
}

fn size(ctx: &Ctx<'_>, count: f64, what: &str) -> Result<usize> {
    if count >= 0.0 && count.fract() == 0.0 && count <= LENGTH_MAX as f64 {
        Ok(count as usize)
    } else {
        Err(wrong(ctx, &format!("{what}: expected a whole number up to {LENGTH_MAX}, got {count}")))
    }
}

/// 0.2 or "20%".
fn share(value: &Value<'_>) -> Option<f64> {
    let number = match value.as_number() {
        Some(number) => number,
        None => loadstone_units::share::parse(&value.get::<Coerced<String>>().ok()?.0).ok()?,
    };
    (0.0..=1.0).contains(&number).then_some(number)
}
