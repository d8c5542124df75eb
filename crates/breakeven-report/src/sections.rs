//! The sections of the page: a row has its heading and what to look at.

/// A section.
#[derive(Clone, Copy)]
pub(crate) struct Section {
    /// The id of its element.
    pub(crate) id: &'static str,
    /// Its heading.
    pub(crate) title: &'static str,
    /// What to look at, a sentence.
    pub(crate) look: &'static str,
}

pub(crate) const OVERVIEW: Section = Section { id: "overview", title: "Overview", look: "What stands out, and the operations that are worth changing: those with the most time." };
pub(crate) const VERDICTS: Section = Section { id: "verdicts", title: "Verdicts", look: "Red became slower, green faster, by the threshold or more; an interval inside the band means no change." };
pub(crate) const JUDGED: Section = Section { id: "judged", title: "Findings", look: "The first of a list takes the most time." };
pub(crate) const EXECUTIONS: Section = Section { id: "executions", title: "Executions", look: "Look for tasks that fell back, and for medians far from the prediction." };
pub(crate) const DEVICES: Section = Section { id: "devices", title: "Devices", look: "Look for idle time, and for communication and copies that no compute hides." };
pub(crate) const OPERATIONS: Section = Section { id: "operations", title: "Operations", look: "Sort by share to see what takes the time; open an operation for its phases and the distribution of its times." };
pub(crate) const ROOFLINE: Section = Section { id: "roofline", title: "Roofline", look: "The further a dot is below its roof, the more there is to gain; below the slope memory is the limit, below the flat roof arithmetic." };
pub(crate) const TIMELINE: Section = Section { id: "timeline", title: "Time line", look: "Look for gaps, in which a thread or a device waits." };
pub(crate) const LOAD: Section = Section { id: "load", title: "Machine", look: "Other programs and throttled clocks make the times measured meanwhile longer." };
pub(crate) const FLAME: Section = Section { id: "flame", title: "Flame graph", look: "A frame is as wide as its time; where nothing is below it, the time is its own." };
pub(crate) const BREAK_EVEN: Section = Section { id: "break-even", title: "Break-even", look: "From its break-even on, a device is faster than the other one; on smaller inputs it is slower." };
pub(crate) const HISTORY: Section = Section { id: "history", title: "History", look: "Right of a vertical line is the first commit of a new level." };
pub(crate) const ADVICE: Section = Section { id: "advice", title: "Advice", look: "Begin with the first: it saves the most." };
pub(crate) const ENVIRONMENT: Section = Section { id: "environment", title: "Environment", look: "Before you trust a difference, check that the other profile has the same." };
