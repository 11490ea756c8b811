import { useId, useState } from "react";
import type { KeyboardEvent } from "react";
import { serviceUrl } from "../session/service-url.js";
import { CopyButton } from "../ui/copy-button.js";
import { firstTraceSnippets } from "./snippets.js";
import type { SnippetStep } from "./snippets.js";
import "./first-trace.css";

/** How to send the first call to a project, for this host. */
export function FirstTrace({ projectId }: { projectId: string }) {
  const [snippets] = useState(() => firstTraceSnippets(serviceUrl(), projectId));
  const [chosen, choose] = useState(0);
  const id = useId();
  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const next = (chosen + step + snippets.length) % snippets.length;
    choose(next);
    (event.currentTarget.children[next] as HTMLElement).focus();
  };
  return (
    <section className="first-trace" aria-label="Send the first call">
      <div className="step">
        <h2>The key</h2>
        <p className="prose quiet">
          It is in the file <code>api-key</code> of the service’s data directory, and printed when the service starts in
          a terminal. Any other key that may write works, too.
        </p>
        <Code title="The key" code="export HEDDLE_API_KEY=$(cat .heddle/api-key)" />
      </div>
      <div role="tablist" aria-label="Language" onKeyDown={onKeyDown}>
        {snippets.map(({ name }, index) => (
          <button
            key={name}
            role="tab"
            id={`${id}-tab-${index}`}
            aria-selected={index === chosen}
            aria-controls={`${id}-panel`}
            tabIndex={index === chosen ? 0 : -1}
            onClick={() => choose(index)}
          >
            {name}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-tab-${chosen}`}>
        {snippets[chosen]?.steps.map(({ title, code }) => (
          <div className="step" key={title}>
            <h2>{title}</h2>
            <Code title={title} code={code} />
          </div>
        ))}
      </div>
    </section>
  );
}

function Code({ title, code }: SnippetStep) {
  return (
    <div className="code">
      {/* Long lines scroll, by keyboard, too. */}
      <pre tabIndex={0} role="region" aria-label={title}>
        <code>{code}</code>
      </pre>
      <CopyButton text={() => code} />
    </div>
  );
}
