//! Axes: from numbers to places and ticks.

use crate::markup;

/// Whether a value can be drawn: it must be a number, and not so large that a plot would show
/// nothing else.
pub fn can_be_drawn(value: f64) -> bool {
    value == 0.0 || (1e-15..1e15).contains(&value.abs())
}

/// The scale of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Equal steps, from zero.
    FromZero,
    /// Equal steps, near the values only.
    Near,
    /// Equal ratios, decimal.
    Ratios,
    /// Equal ratios, sizes in KiB.
    Kib,
    /// Equal ratios, sizes in bytes.
    Bytes,
    /// Whole numbers in equal steps.
    Counts,
    /// Offsets in bytes: equal steps that are powers of two.
    Offsets,
}

/// One axis with its ticks.
#[derive(Debug)]
pub struct Axis {
    /// The label beside it.
    pub label: String,
    scale: Scale,
    low: f64,
    high: f64,
    /// Values and their labels.
    pub ticks: Vec<(f64, String)>,
}

impl Axis {
    /// An axis on which all the values have a place; `None` if there is no value that can be drawn.
    pub fn new(label: &str, scale: Scale, values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let is_log = matches!(scale, Scale::Ratios | Scale::Kib | Scale::Bytes);
        let mut range: Option<(f64, f64)> = None;
        for value in values {
            if can_be_drawn(value) && (!is_log || value > 0.0) {
                let (low, high) = range.unwrap_or((value, value));
                range = Some((low.min(value), high.max(value)));
            }
        }
        let (low, high) = range?;
        let ticks = match scale {
            Scale::FromZero => linear(low.min(0.0), high.max(0.0), 5),
            Scale::Near => linear(low, high, 5),
            Scale::Ratios => decimal(low, high),
            Scale::Kib | Scale::Bytes => binary(low, high),
            Scale::Counts => counts(low, high),
            Scale::Offsets => offsets(low, high),
        };
        // Sizes, counts and ratios end with the values if ticks remain between them; all others end
        // at ticks.
        let margin = if scale == Scale::Ratios { (high / low).powf(0.04) } else { 1.0 };
        let close = (low / margin, high * margin);
        let inside = ticks.iter().filter(|&&tick| (close.0..=close.1).contains(&tick)).count();
        let (low, high) = match scale {
            Scale::FromZero | Scale::Near => (ticks[0].min(low), ticks[ticks.len() - 1].max(high)),
            _ if inside >= 2 && close.0 < close.1 => close,
            _ => (ticks[0].min(low), ticks[ticks.len() - 1].max(high)),
        };
        let text = |value: f64| match scale {
            Scale::Kib => markup::kib(value),
            Scale::Bytes => markup::bytes(value),
            Scale::Offsets => format!("{value}"),
            _ => markup::tick(value),
        };
        let ticks = ticks.into_iter().filter(|tick| (low..=high).contains(tick));
        let ticks = ticks.map(|value| (value, text(value))).collect();
        Some(Self { label: label.to_owned(), scale, low, high, ticks })
    }

    /// The place of a value between the ends, 0 to 1; `None` for a value that cannot be drawn. What
    /// is infinite is at the end.
    pub fn at(&self, value: f64) -> Option<f64> {
        if value == f64::INFINITY {
            return Some(1.0);
        }
        if !can_be_drawn(value) {
            return None;
        }
        let place = match self.scale {
            Scale::FromZero | Scale::Near | Scale::Counts | Scale::Offsets => {
                (value - self.low) / (self.high - self.low)
            }
            Scale::Ratios | Scale::Kib | Scale::Bytes => {
                (value / self.low).ln() / (self.high / self.low).ln()
            }
        };
        place.is_finite().then(|| place.clamp(0.0, 1.0))
    }
}

/// The multiples of 1, 2 or 5 times a power of ten that enclose the values, about `wanted` of them.
fn linear(low: f64, high: f64, wanted: usize) -> Vec<f64> {
    let (low, high) = if high > low { (low, high) } else { (low - pad(low), high + pad(high)) };
    let rough = (high - low) / wanted as f64;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|&step| step >= rough);
    let step = step.unwrap_or(10.0 * power);
    let (first, last) = ((low / step).floor(), (high / step).ceil());
    (0..=(last - first) as usize).map(|i| (first + i as f64) * step).collect()
}

fn pad(value: f64) -> f64 {
    if value == 0.0 { 1.0 } else { value.abs() / 10.0 }
}

/// 1, 2 and 5 times powers of ten that enclose the values; only the powers, or some of them, if
/// there would be too many.
fn decimal(low: f64, high: f64) -> Vec<f64> {
    let mut ticks = Vec::new();
    let (first, last) = (low.log10().floor() as i32 - 1, high.log10().ceil() as i32 + 1);
    for power in first..=last {
        ticks.extend([1.0, 2.0, 5.0].map(|m| m * 10f64.powi(power)));
    }
    let mut ticks = enclosing(ticks, low, high);
    let decades = ((high / low).log10() / 5.0).ceil() as i32;
    if ticks.len() > 8 {
        ticks = (first..=last + decades)
            .filter(|power| power.rem_euclid(decades.max(1)) == 0)
            .map(|power| 10f64.powi(power))
            .collect();
        ticks = enclosing(ticks, low, high);
    }
    ticks
}

/// Powers of two that enclose the values, or every second, third, … of them.
fn binary(low: f64, high: f64) -> Vec<f64> {
    let (first, last) = (low.log2().floor() as i32, high.log2().ceil() as i32);
    let last = last.max(first + 1);
    let step = (last - first + 6) / 7;
    (0..=(last - first + step - 1) / step).map(|i| 2f64.powi(first + i * step)).collect()
}

/// Whole numbers, at most about eight.
fn counts(low: f64, high: f64) -> Vec<f64> {
    if high - low < 8.0 {
        let (low, high) = if high > low { (low, high) } else { (low - 1.0, high + 1.0) };
        return (low.floor() as i64..=high.ceil() as i64).map(|count| count as f64).collect();
    }
    linear(low, high, 6)
}

/// Multiples of a power of two, at most six.
fn offsets(low: f64, high: f64) -> Vec<f64> {
    let (low, high) = if high > low { (low, high) } else { (low, low + 1.0) };
    let step = 2f64.powf(((high - low) / 5.0).log2().ceil()).max(1.0);
    let (first, last) = ((low / step).floor(), (high / step).ceil());
    (0..=(last - first) as usize).map(|i| (first + i as f64) * step).collect()
}

/// From the last tick at or below `low` to the first at or above `high`.
fn enclosing(ticks: Vec<f64>, low: f64, high: f64) -> Vec<f64> {
    let from = ticks.iter().rposition(|&tick| tick <= low).unwrap_or(0);
    let to = ticks.iter().position(|&tick| tick >= high).unwrap_or(ticks.len() - 1);
    let to = if to > from { to } else { (from + 1).min(ticks.len() - 1) };
    ticks[from..=to].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCALES: [Scale; 7] = [
        Scale::FromZero,
        Scale::Near,
        Scale::Ratios,
        Scale::Kib,
        Scale::Bytes,
        Scale::Counts,
        Scale::Offsets,
    ];

    fn texts(scale: Scale, values: &[f64]) -> Vec<String> {
        let axis = Axis::new("", scale, values.iter().copied()).unwrap();
        axis.ticks.into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn ticks_are_round_and_enclose() {
        assert_eq!(texts(Scale::FromZero, &[380.0, 1380.0]), ["0", "500", "1k", "1.5k"]);
        assert_eq!(texts(Scale::Near, &[3.66, 3.68]), ["3.66", "3.665", "3.67", "3.675", "3.68"]);
        assert_eq!(texts(Scale::Ratios, &[210.0, 4700.0]), ["200", "500", "1k", "2k", "5k"]);
        assert_eq!(texts(Scale::Ratios, &[1.0, 3e9]), ["1", "100", "10k", "1M", "100M"]);
        assert_eq!(texts(Scale::Kib, &[448.0, 1792.0]), ["512 KiB", "1 MiB"]);
        assert_eq!(texts(Scale::Counts, &[1.0, 4.0]), ["1", "2", "3", "4"]);
        assert_eq!(texts(Scale::Offsets, &[0.0, 4095.0]), ["0", "1024", "2048", "3072"]);
    }

    #[test]
    fn every_value_has_a_place_whatever_the_values() {
        let sets: [&[f64]; 7] = [
            &[1.0],
            &[1.0, 1.0],
            &[1e-15, 1e14],
            &[5e14, 9e14],
            &[3.0, 4096.0],
            &[1.0, 1.0 + 1e-12],
            &[1e-9, 2e-9, f64::NAN, f64::INFINITY, -1.0],
        ];
        for scale in SCALES {
            for set in sets {
                let axis = Axis::new("", scale, set.iter().copied()).unwrap();
                assert!((1..=12).contains(&axis.ticks.len()), "{scale:?} {set:?} {axis:?}");
                for &value in set.iter().filter(|v| **v > 0.0 && v.is_finite()) {
                    let place = axis.at(value).unwrap();
                    assert!((0.0..=1.0).contains(&place), "{scale:?} {set:?} {value} {place}");
                }
                assert_eq!((axis.at(f64::NAN), axis.at(f64::INFINITY)), (None, Some(1.0)));
            }
            assert!(Axis::new("", scale, [f64::NAN, 1e300]).is_none());
            assert!(Axis::new("", scale, []).is_none());
        }
    }
}
