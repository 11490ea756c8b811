/** A part of the time of a trace; both in microseconds. */
export interface TimeWindow {
  start: number;
  end: number;
}

/** What it is at least: below a microsecond nothing is known. */
const leastUs = 10;

/** What `1200-3400` says: microseconds since the trace began. Undefined for what says nothing, and for the whole trace. */
export function readWindow(text: string | undefined, whole: TimeWindow): TimeWindow | undefined {
  const [, from, to] = /^(\d{1,15})-(\d{1,15})$/.exec(text ?? "") ?? [];
  if (from === undefined || to === undefined) return undefined;
  return within({ start: whole.start + Number(from), end: whole.start + Number(to) }, whole);
}

/** The text that {@link readWindow} reads; undefined for the whole trace. */
export function writeWindow(window: TimeWindow, whole: TimeWindow): string | undefined {
  const shown = within(window, whole);
  return shown && `${Math.round(shown.start - whole.start)}-${Math.round(shown.end - whole.start)}`;
}

/** The window where it is in the trace, and wide enough to have something in it. */
function within({ start, end }: TimeWindow, whole: TimeWindow): TimeWindow | undefined {
  const length = whole.end - whole.start;
  const width = Math.max(leastUs, end - start);
  if (width >= length) return undefined;
  const from = Math.max(whole.start, Math.min(whole.end - width, start));
  return { start: from, end: from + width };
}

/** As many times as wide, with what is at a place (0 is the left edge, 1 the right one) staying there. */
export function zoomed({ start, end }: TimeWindow, factor: number, place = 0.5): TimeWindow {
  const width = (end - start) * factor;
  const at = start + (end - start) * place;
  return { start: at - width * place, end: at + width * (1 - place) };
}

/** Moved by a share of what it shows. */
export function panned({ start, end }: TimeWindow, share: number): TimeWindow {
  const by = (end - start) * share;
  return { start: start + by, end: end + by };
}
