//! The series of a test, created from its runs' summaries, and their steps.

use super::levels;
use super::model::{RunTrend, TrendMetric, TrendRun, TrendSeries, TrendStep};
use super::numbers::TrendInput;

/// Maximum number of requests in the trend: the most frequent ones of the newest run.
const REQUESTS_MAX: usize = 20;
/// Smallest relative change of times that matters, and smallest change of the share of failures.
const EFFECT: f64 = 0.03;
const FAILURES_EFFECT: f64 = 0.001;
const METRICS: [TrendMetric; 4] = [TrendMetric::P50, TrendMetric::P95, TrendMetric::P99, TrendMetric::Failures];

impl RunTrend {
    pub const SCHEMA: u32 = 1;
    /// Maximum probability that a test of an unchanged system shows any step.
    pub const FALSE_CHANCE: f64 = 0.05;

    /// The trend of the complete runs of a test under the same load, the oldest first.
    pub fn of(test: &str, inputs: &[TrendInput]) -> Self {
        let requests = requests(inputs);
        // With a single request, the series of all requests would be the same.
        let all = (requests.len() != 1).then_some(None);
        let subjects: Vec<Option<String>> = all.into_iter().chain(requests.into_iter().map(Some)).collect();
        let count = (subjects.len() * METRICS.len()) as f64;
        let false_chance = Self::FALSE_CHANCE / count.max(1.0);
        let series = subjects.iter().flat_map(|subject| {
            METRICS.map(|metric| {
                let values = inputs.iter().map(|input| input.numbers.value(subject.as_deref(), metric)).collect();
                TrendSeries::of(subject.clone(), metric, values, false_chance)
            })
        });
        let mut series: Vec<TrendSeries> = series.filter(|series| series.values.iter().any(Option::is_some)).collect();
        series.sort_by_key(|series| series.steps.is_empty());
        align(&mut series);
        let runs: Vec<TrendRun> = inputs.iter().map(|input| input.run.clone()).collect();
        let mut trend =
            Self { schema: Self::SCHEMA, test: test.to_owned(), runs, series, false_chance: Self::FALSE_CHANCE, headline: String::new() };
        trend.headline = trend.sentence();
        trend
    }

    /// Every step with its series: the newest first, and for the same run the clearest first.
    pub fn steps(&self) -> Vec<(&TrendSeries, &TrendStep)> {
        let mut steps: Vec<(&TrendSeries, &TrendStep)> =
            self.series.iter().flat_map(|series| series.steps.iter().map(move |step| (series, step))).collect();
        steps.sort_by(|a, b| b.1.at.cmp(&a.1.at).then(a.1.p.total_cmp(&b.1.p)));
        steps
    }

    fn sentence(&self) -> String {
        let runs = loadstone_units::counted(self.runs.len() as u64, "run");
        if self.runs.len() < 2 * levels::SIDE_MIN {
            return format!("cannot tell: {runs} so far, but a step needs at least {} on either side", levels::SIDE_MIN);
        }
        let steps = self.steps();
        let Some((series, step)) = steps.first() else {
            let noise =
                self.series.iter().filter(|series| series.metric == TrendMetric::P95).filter_map(|series| series.noise).reduce(f64::max);
            let noise =
                noise.map_or_else(String::new, |noise| format!("; single runs differ by up to {} in p95", loadstone_units::share(noise)));
            return format!("no step in {runs}{noise}");
        };
        let more = if steps.len() > 1 { format!(", and {} more", steps.len() - 1) } else { String::new() };
        format!("{} {} with {}{more}", series.title(), step.in_words(series.metric), self.runs[step.at].id)
    }
}

/// One change of the system appears in several series, in some of them a few runs off. These steps are moved to the run of the clearest
/// step.
fn align(series: &mut [TrendSeries]) {
    let mut known_steps: Vec<(usize, usize)> = Vec::new();
    let mut steps: Vec<&mut TrendStep> = series.iter_mut().flat_map(|series| &mut series.steps).collect();
    steps.sort_by(|a, b| a.at_error.cmp(&b.at_error).then(a.p.total_cmp(&b.p)));
    for step in steps {
        let near = known_steps
            .iter()
            .filter(|(at, _)| at.abs_diff(step.at) as u64 <= 2 * step.at_error + 1)
            .min_by_key(|(at, _)| at.abs_diff(step.at));
        match near {
            Some((at, before_at)) => (step.at, step.before_at) = (*at, *before_at),
            None => known_steps.push((step.at, step.before_at)),
        }
    }
}

impl TrendStep {
    /// `rose by 12.1 % (9.0 % to 15.3 %), from 38.2 ms to 42.8 ms`.
    pub fn in_words(&self, metric: TrendMetric) -> String {
        let direction = if self.is_worse() { "rose" } else { "fell" };
        if metric.is_difference() {
            return format!("{direction} from {} to {}", loadstone_units::share(self.before), loadstone_units::share(self.after));
        }
        let size = |ratio: f64| if self.is_worse() { ratio - 1.0 } else { 1.0 - ratio };
        let (from, to) = if self.is_worse() { (self.low, self.high) } else { (self.high, self.low) };
        format!(
            "{direction} by {} ({} to {}), from {} to {}",
            loadstone_units::share(size(self.change)),
            loadstone_units::share(size(from)),
            loadstone_units::share(size(to)),
            loadstone_units::seconds(self.before),
            loadstone_units::seconds(self.after)
        )
    }
}

/// The requests of the newest run, the most frequent first.
fn requests(inputs: &[TrendInput]) -> Vec<String> {
    let names = inputs.last().map_or_else(Vec::new, |newest| newest.numbers.names());
    names.into_iter().take(REQUESTS_MAX).map(str::to_owned).collect()
}

impl TrendSeries {
    /// One number over the runs, with its steps.
    ///
    /// `values`: one for each run, from the oldest; `None`: the run did not measure it. `false_chance`: maximum probability that a series of one level shows
    /// any step.
    pub fn of(request: Option<String>, metric: TrendMetric, values: Vec<Option<f64>>, false_chance: f64) -> Self {
        let scale = |value: f64| if metric.is_difference() { value } else { value.max(1e-9).ln() };
        let known: Vec<(usize, f64)> = values.iter().enumerate().filter_map(|(run, value)| Some((run, scale((*value)?)))).collect();
        let scaled: Vec<f64> = known.iter().map(|(_, value)| *value).collect();
        let unscale = |value: f64| if metric.is_difference() { value } else { value.exp() };
        let cuts = levels::cuts(&scaled, false_chance);
        let level = |from: usize, to: usize| unscale(scaled[from..to].iter().sum::<f64>() / (to - from) as f64);
        let limit = if metric.is_difference() { FAILURES_EFFECT } else { EFFECT.ln_1p() };
        let matters = |cut: &&levels::LevelCut| cut.change.abs() >= limit;
        let step = |cut: &levels::LevelCut| TrendStep {
            at: known[cut.at].0,
            at_error: cut.at_error as u64,
            before_at: known[cut.at - 1].0,
            before: level(cut.from, cut.at),
            after: level(cut.at, cut.to),
            change: unscale(cut.change),
            low: unscale(cut.change - cut.half),
            high: unscale(cut.change + cut.half),
            p: cut.p,
            runs_before: (cut.at - cut.from) as u64,
            runs_after: (cut.to - cut.at) as u64,
        };
        let rest = levels::residuals_of(&scaled, &cuts);
        let deviation =
            (rest.iter().map(|value| value * value).sum::<f64>() / (rest.len() as f64 - 1.0 - cuts.len() as f64).max(1.0)).sqrt();
        let last = cuts.last().map_or(0, |cut| cut.at);
        Self {
            request,
            metric,
            noise: (rest.len() >= 2 * levels::SIDE_MIN)
                .then(|| if metric.is_difference() { 2.0 * deviation } else { (2.0 * deviation).exp_m1() }),
            steps: cuts.iter().filter(matters).map(step).collect(),
            level: (!scaled.is_empty()).then(|| level(last, scaled.len())),
            values,
        }
    }
}
