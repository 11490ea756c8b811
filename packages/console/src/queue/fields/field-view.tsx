import { useId, useState } from "react";
import type { KeyboardEvent } from "react";
import { visibleLine, visibleText } from "../../ui/visible-text.js";
import { enteredOf, isSame, readEntered } from "./answers.js";
import type { Choice, Field } from "./field.js";
import type { Numbered } from "./numbers.js";
import { TypeAhead } from "./type-ahead.js";

interface Props {
  field: Field;
  numbered: readonly Numbered[];
  value: unknown;
  isCurrent: boolean;
  onCurrent: () => void;
  onChoose: (value: unknown) => void;
  onEnter: (value: unknown) => void;
  /** Why what is entered is not a value; undefined where it is one. */
  onMistake: (mistake: string | undefined) => void;
}

/** A question and the place for its answer. */
export function FieldView({ field, numbered, value, isCurrent, onCurrent, ...change }: Props) {
  const id = useId();
  const { input } = field;
  const first = numbered.findIndex((one) => one.field === field);
  const isChosen = ({ value: of }: Choice) =>
    input.kind === "choices" && input.many
      ? Array.isArray(value) && value.some((one) => isSame(one, of))
      : isSame(value, of);
  return (
    <div data-field role="group" aria-labelledby={id} className={isCurrent ? "field is-current" : "field"}>
      <h3 id={id} className="given" title={field.name}>
        {visibleLine(field.title)}
      </h3>
      {field.description !== "" && <p className="quiet given">{visibleText(field.description)}</p>}
      {input.kind !== "choices" ? (
        <Entered onCurrent={onCurrent} field={field} value={value} label={id} {...change} />
      ) : first >= 0 ? (
        <div className="field-choices">
          {input.choices.map((choice, index) => (
            <button
              key={choice.label}
              aria-pressed={isChosen(choice)}
              className="field-choice"
              onFocus={onCurrent}
              onClick={() => change.onChoose(choice.value)}
            >
              <kbd>{first + index + 1}</kbd> <span className="given">{visibleLine(choice.label)}</span>
            </button>
          ))}
        </div>
      ) : (
        <TypeAhead
          onCurrent={onCurrent}
          label={id}
          choices={input.choices}
          isChosen={isChosen}
          onChoose={change.onChoose}
        />
      )}
    </div>
  );
}

function Entered({
  field,
  value,
  label,
  onEnter,
  onMistake,
  onCurrent,
}: { label: string } & Pick<Props, "field" | "value" | "onEnter" | "onMistake" | "onCurrent">) {
  const [text, setText] = useState(() => enteredOf(field, value));
  const [lastValue, setShown] = useState(value);
  const [mistake, setMistake] = useState<string>();
  // Changed by another than this field: undone.
  if (!isSame(lastValue, value)) {
    setShown(value);
    setText(enteredOf(field, value));
    setMistake(undefined);
  }
  const change = (next: string) => {
    setText(next);
    const read = readEntered(field, next);
    const wrong = "mistake" in read ? read.mistake : undefined;
    setMistake(wrong);
    onMistake(wrong);
    if ("value" in read) {
      setShown(read.value);
      onEnter(read.value);
    }
  };
  const common = {
    "data-edited": true,
    "aria-labelledby": label,
    "aria-invalid": mistake !== undefined,
    value: text,
    onFocus: onCurrent,
    onKeyDown: (event: KeyboardEvent<HTMLElement>) => {
      const leaves =
        event.key === "Escape" || (event.key === "Enter" && field.input.kind === "number" && !event.ctrlKey);
      if (!leaves || event.nativeEvent.isComposing) return;
      event.preventDefault();
      event.currentTarget.blur();
    },
  };
  return (
    <>
      {field.input.kind === "number" ? (
        <input {...common} inputMode="decimal" autoComplete="off" onChange={({ target }) => change(target.value)} />
      ) : (
        <textarea
          {...common}
          rows={field.input.kind === "text" ? 2 : 4}
          className={field.input.kind === "json" ? "mono" : undefined}
          placeholder="Enter to write, Esc to leave"
          onChange={({ target }) => change(target.value)}
        />
      )}
      {mistake !== undefined && (
        <p className="is-error" role="alert">
          ✗ {mistake}
        </p>
      )}
    </>
  );
}
