import { Failure } from "../ui/failure.js";
import { formatCount } from "../ui/format.js";
import { visibleLine, visibleText } from "../ui/visible-text.js";
import { Waiting } from "../ui/waiting.js";
import { useBaseModels } from "./use-training.js";

/** What training can begin with on this service, and what cannot be used, with the reason. */
export function BaseModels() {
  const { data, error, refetch } = useBaseModels();
  return (
    <section aria-labelledby="base-models" className="training-part">
      <h2 id="base-models">Base models of this service</h2>
      {data === undefined && error === null && <Waiting what="Loading the base models" />}
      {error !== null && <Failure what="The base models cannot be read." error={error} onRetry={() => refetch()} />}
      {data !== undefined && data.data.length > 0 && (
        <div className="training-scroll" tabIndex={0} role="group" aria-label="Table of base models">
          <table className="training-table">
            <thead>
              <tr>
                <th>id</th>
                <th className="figure">weights</th>
                <th className="figure">context</th>
                <th className="figure">trained at most</th>
                <th className="figure">LoRA rank</th>
                <th>use</th>
              </tr>
            </thead>
            <tbody>
              {data.data.map((model) => (
                <tr key={model.id}>
                  <td className="mono given">{visibleLine(model.id)}</td>
                  <td className="figure">{model.parameters !== null && formatCount(model.parameters)}</td>
                  <td className="figure">{formatCount(model.context_window)}</td>
                  <td className="figure">
                    {model.max_training_tokens !== null && formatCount(model.max_training_tokens)}
                  </td>
                  <td className="figure">{model.max_lora_rank ?? (model.full_fine_tuning ? "all weights" : "")}</td>
                  <td>
                    {[model.trainable && "train", model.sampleable && "sample"].filter(Boolean).join(", ") || "nothing"}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {data?.unavailable !== undefined && data.unavailable.length > 0 && (
        <ul className="training-unavailable">
          {data.unavailable.map(({ id, reason }) => (
            <li key={id}>
              <span className="is-error">✗ cannot be used</span> <span className="mono given">{visibleLine(id)}</span>{" "}
              <span className="given prose">{visibleText(reason)}</span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
