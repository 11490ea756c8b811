interface Props {
  label: string;
  values: readonly { day: string; value: number }[];
  format: (value: number) => string;
}

const height = 120;

/** A bar for each day, in one picture; a table next to it has the numbers. */
export function DayBars({ label, values, format }: Props) {
  const most = Math.max(...values.map(({ value }) => value));
  const step = 100 / values.length;
  return (
    <figure className="day-bars">
      <svg viewBox={`0 0 100 ${height}`} preserveAspectRatio="none" role="img" aria-label={label}>
        {values.map(({ day, value }, index) => (
          <rect
            key={day}
            x={index * step + step * 0.1}
            width={step * 0.8}
            y={height - barOf(value, most)}
            height={barOf(value, most)}
          >
            <title>{`${day}: ${format(value)}`}</title>
          </rect>
        ))}
      </svg>
      <figcaption className="quiet">
        <span>{values[0]?.day}</span>
        <span>at most {format(most)} a day</span>
        <span>{values.at(-1)?.day}</span>
      </figcaption>
    </figure>
  );
}

/** What is not nothing can be seen. */
const barOf = (value: number, most: number): number => (value === 0 ? 0 : Math.max(2, (height * value) / most));
