import { useState, useSyncExternalStore } from "react";
import { Trace } from "../call/trace.js";
import { useOutline } from "../call/use-call.js";
import type { DetailView } from "../call/detail-view.js";
import { KeysSheet } from "../commands/keys-sheet.js";
import { Palette } from "../commands/palette.js";
import { useCommands } from "../commands/use-commands.js";
import { useSessionState } from "../session/session-context.js";
import { Failure } from "../ui/failure.js";
import { copyText, useNotice } from "../ui/notice.js";
import { Waiting } from "../ui/waiting.js";
import { visibleLine } from "../ui/visible-text.js";
import { shareCommands } from "./share-commands.js";
import type { SharedTrace } from "./shared-trace.js";
import "../call/call-screen.css";
import "../shell/shell.css";
import "./share-page.css";

/** A trace for anybody who has its link, without a log-in. Null is a link of which a part is missing. */
export function SharePage({ shared }: { shared: SharedTrace | null }) {
  const [open, setOpen] = useState<"keys" | "palette">();
  const { status, isReachable } = useSessionState();
  const notice = useNotice();
  useCommands({ scope: "Everywhere" }, shareCommands, {
    link: () => copyText(location.href, "the address"),
    palette: () => setOpen("palette"),
    keys: () => setOpen("keys"),
  });
  const close = () => setOpen(undefined);
  return (
    <div className="shell">
      <header className="top">
        <p className="shared-of cut">
          <strong>Heddle</strong>{" "}
          <span className="quiet">
            a shared trace{shared !== null && " of "}
            {shared !== null && <span className="given">{visibleLine(shared.projectId)}</span>}
          </span>
        </p>
        <p className="top-note quiet" role="status">
          {notice}
        </p>
        {!isReachable && (
          <p className="top-note is-error" role="alert">
            ✗ The service does not respond. Trying again…
          </p>
        )}
        <div className="top-end">
          <button className="plain" onClick={() => setOpen("keys")}>
            Keys <kbd>?</kbd>
          </button>
        </div>
      </header>
      <main className="call">
        {shared === null ? (
          <Nothing title="A part of the link is missing" />
        ) : status === "ended" ? (
          <Nothing title="The link is not valid" />
        ) : (
          <Shared shared={shared} />
        )}
      </main>
      {open === "keys" && <KeysSheet onClose={close} />}
      {open === "palette" && <Palette onClose={close} />}
    </div>
  );
}

const Nothing = ({ title }: { title: string }) => (
  <div className="call-note">
    <h1>{title}</h1>
    <p className="prose">
      A link to a shared trace ends with what it shares, and works until it expires or is revoked. Ask who gave it to
      you for the whole link, or for another one.
    </p>
  </div>
);

function Shared({ shared: { projectId, traceId } }: { shared: SharedTrace }) {
  const { data: outline, error, refetch } = useOutline(projectId, traceId);
  const search = useAddressSearch();
  const first = outline === undefined || outline.length === 0 ? undefined : outline.id(0);
  const selected = search.get("span") ?? first;
  return (
    <>
      <h1 className="unseen">A shared trace</h1>
      {outline === undefined && error === null && <Waiting what="Loading the trace" />}
      {outline === undefined && error !== null && (
        <div className="call-note">
          <Failure what="The trace cannot be read." error={error} onRetry={() => refetch()} />
        </div>
      )}
      {outline !== undefined && selected === undefined && <Nothing title="The trace has no calls any more" />}
      {selected !== undefined && (
        <Trace
          projectId={projectId}
          traceId={traceId}
          selected={selected}
          onSelect={(id) => setInAddress("span", id === first ? undefined : id)}
          zoom={search.get("zoom") ?? undefined}
          onZoom={(part) => setInAddress("zoom", part)}
          show={search.get("show") === "json" ? "json" : "messages"}
          onShow={(show: DetailView) => setInAddress("show", show === "messages" ? undefined : show)}
        />
      )}
    </>
  );
}

const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  addEventListener("popstate", listener);
  return () => {
    listeners.delete(listener);
    removeEventListener("popstate", listener);
  };
}

/** The parameters of the address. Its path and fragment say what is shared, and never change. */
const useAddressSearch = (): URLSearchParams =>
  new URLSearchParams(useSyncExternalStore(subscribe, () => location.search));

function setInAddress(name: string, value: string | undefined): void {
  const address = new URL(location.href);
  if (value === undefined) address.searchParams.delete(name);
  else address.searchParams.set(name, value);
  history.replaceState(history.state, "", address);
  for (const listener of listeners) listener();
}
