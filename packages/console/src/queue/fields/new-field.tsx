import { objCreate } from "@heddle/client/tracing";
import { useState } from "react";
import { refOf } from "../../library/kinds.js";
import { useSession } from "../../session/session-context.js";
import { Failure } from "../../ui/failure.js";
import { specificationOf } from "./specification.js";
import type { NewSpecification } from "./specification.js";

interface Props {
  projectId: string;
  onMade: (ref: string) => void;
  onCancel: () => void;
}

const kinds = {
  boolean: "yes or no",
  choice: "one of several values",
  choices: "any of several values",
  scale: "a whole number from 1 to",
  text: "text",
};

/** Publishes an annotation specification. It is inside of the form of the queue, and no form of its own. */
export function NewField({ projectId, onMade, onCancel }: Props) {
  const session = useSession();
  const [given, setGiven] = useState<NewSpecification>({ title: "", kind: "boolean", values: "", most: 5 });
  const [state, setState] = useState<{ error?: unknown; isSending?: true }>({});
  const change = (by: Partial<NewSpecification>) => setGiven({ ...given, ...by });
  const result = specificationOf(given);
  const make = () => {
    if (!("val" in result)) return;
    const { name, val } = result;
    setState({ isSending: true });
    const obj = { project_id: projectId, object_id: name, builtin_object_class: "AnnotationSpec", val };
    objCreate(session.connection, { obj }).then(
      ({ digest }) => onMade(refOf(projectId, "objects", name, digest)),
      (error: unknown) => setState({ error }),
    );
  };
  return (
    <div className="queue-form new-field" role="group" aria-label="New field">
      <label>
        Question{" "}
        <input
          autoComplete="off"
          maxLength={128}
          value={given.title}
          onChange={(e) => change({ title: e.target.value })}
        />
      </label>
      <label>
        Answer{" "}
        <select
          value={given.kind}
          onChange={({ target }) => change({ kind: target.value as NewSpecification["kind"] })}
        >
          {Object.entries(kinds).map(([kind, title]) => (
            <option key={kind} value={kind}>
              {title}
            </option>
          ))}
        </select>
      </label>
      {given.kind === "scale" && (
        <label>
          Most{" "}
          <input
            type="number"
            min={2}
            max={100}
            value={given.most}
            onChange={({ target }) => change({ most: target.valueAsNumber })}
          />
        </label>
      )}
      {(given.kind === "choice" || given.kind === "choices") && (
        <label>
          Values, one a line{" "}
          <textarea rows={3} value={given.values} onChange={({ target }) => change({ values: target.value })} />
        </label>
      )}
      {"mistake" in result && given.title !== "" && <p className="quiet">{result.mistake}</p>}
      {state.error !== undefined && <Failure what="The field was not made." error={state.error} />}
      <div>
        <button type="button" disabled={!("val" in result) || state.isSending === true} onClick={make}>
          Make the field
        </button>{" "}
        <button type="button" className="plain" onClick={onCancel}>
          Without
        </button>
      </div>
    </div>
  );
}
