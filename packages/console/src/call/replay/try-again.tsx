import { readCallsSearch } from "../../calls/calls-search.js";
import { useNavigate, useSearch } from "../../router/routing.js";
import { useCommands } from "../../commands/use-commands.js";
import { replayCommands } from "../span-commands.js";

/** Leads to the playground with the request of the call. */
export function TryAgain({ projectId, callId }: { projectId: string; callId: string }) {
  const navigate = useNavigate();
  const table = useSearch({ from: "/$entity/$project/calls/$callId" });
  const slash = projectId.indexOf("/");
  const play = () =>
    void navigate({
      to: "/$entity/$project/play",
      params: { entity: projectId.slice(0, slash), project: projectId.slice(slash + 1) },
      // With the table it is of, in which it has neighbours.
      search: { ...readCallsSearch({ ...table }), call: callId },
    });
  useCommands({ scope: "Replay" }, replayCommands, { play });
  return (
    <button className="plain" onClick={play}>
      Try again <kbd>r</kbd>
    </button>
  );
}
