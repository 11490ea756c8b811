const days = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const months = ["January", "February", "March", "April", "May", "June"].concat([
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
]);

/**
 * Formats a date like Python's `strftime` in the C locale. Directives that chat templates do not use are kept
 * unchanged.
 */
export function strftime(date: Date, format: string): string {
  return format.replaceAll(/%(-?)([A-Za-z%])/g, (whole, bare: string, directive: string) => {
    const value = directives[directive]?.(date);
    if (value === undefined) return whole;
    return bare && /^0\d+$/.test(value) ? String(Number(value)) : value;
  });
}

const padded = (value: number, width = 2): string => String(value).padStart(width, "0");

const directives: Record<string, (date: Date) => string | undefined> = {
  Y: (date) => padded(date.getFullYear(), 4),
  y: (date) => padded(date.getFullYear() % 100),
  m: (date) => padded(date.getMonth() + 1),
  B: (date) => months[date.getMonth()],
  b: (date) => months[date.getMonth()]?.slice(0, 3),
  d: (date) => padded(date.getDate()),
  A: (date) => days[date.getDay()],
  a: (date) => days[date.getDay()]?.slice(0, 3),
  j: (date) => padded(Math.round((startOfDay(date) - Date.UTC(date.getFullYear(), 0, 1)) / 86_400_000) + 1, 3),
  H: (date) => padded(date.getHours()),
  I: (date) => padded(date.getHours() % 12 || 12),
  M: (date) => padded(date.getMinutes()),
  S: (date) => padded(date.getSeconds()),
  p: (date) => (date.getHours() < 12 ? "AM" : "PM"),
  "%": () => "%",
};

function startOfDay(date: Date): number {
  return Date.UTC(date.getFullYear(), date.getMonth(), date.getDate());
}
