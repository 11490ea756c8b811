import { Link, Outlet, useNavigate, useParams } from "../router/routing.js";
import { useState } from "react";
import { KeysSheet } from "../commands/keys-sheet.js";
import { Palette } from "../commands/palette.js";
import { useCommands } from "../commands/use-commands.js";
import { linkToProject, linkToScreen } from "../project/project-link.js";
import { LogInAgain } from "../session/log-in-again.js";
import { useSession, useSessionState } from "../session/session-context.js";
import { copyText, useNotice } from "../ui/notice.js";
import { NoPage } from "./no-page.js";
import { UserMenu } from "./user-menu.js";
import { ProjectNav } from "./project-nav.js";
import { shellCommands } from "./shell-commands.js";
import "./shell.css";

/** The line at the top of every page, and the page. */
export function Shell() {
  const session = useSession();
  const { status, isReachable } = useSessionState();
  const { entity, project } = useParams({ strict: false });
  const projectId = entity === undefined || project === undefined ? undefined : `${entity}/${project}`;
  const [open, setOpen] = useState<"keys" | "palette">();
  const navigate = useNavigate();
  const notice = useNotice();
  const close = () => setOpen(undefined);
  const logOut = () => void session.logOut("here");
  useCommands({ scope: "Everywhere" }, shellCommands, {
    home: () => void navigate({ to: "/" }),
    project: projectId === undefined ? undefined : () => void navigate(linkToProject(projectId)),
    threads: projectId === undefined ? undefined : () => void navigate(linkToScreen(projectId, "threads")),
    evaluations: projectId === undefined ? undefined : () => void navigate(linkToScreen(projectId, "evaluations")),
    library: projectId === undefined ? undefined : () => void navigate(linkToScreen(projectId, "library")),
    training: projectId === undefined ? undefined : () => void navigate(linkToScreen(projectId, "training")),
    queues: projectId === undefined ? undefined : () => void navigate(linkToScreen(projectId, "queues")),
    play: projectId === undefined ? undefined : () => void navigate(linkToScreen(projectId, "play")),
    settings: () =>
      void (projectId === undefined
        ? navigate({ to: "/settings/{-$part}" })
        : navigate(linkToScreen(projectId, "settings"))),
    link: () => copyText(location.href, "the address"),
    palette: () => setOpen("palette"),
    keys: () => setOpen("keys"),
    logOut,
  });
  return (
    <div className="shell">
      <header className="top">
        <nav aria-label="Where you are">
          <Link to="/" className="brand">
            Heddle
          </Link>
          {projectId !== undefined && (
            <Link {...linkToProject(projectId)} className="given cut" title={projectId}>
              {projectId}
            </Link>
          )}
        </nav>
        {projectId !== undefined && <ProjectNav projectId={projectId} />}
        <p className="top-note quiet" role="status">
          {notice}
        </p>
        {!isReachable && (
          <p className="top-note is-error" role="alert">
            ✗ The service does not respond. Trying again…
          </p>
        )}
        <div className="top-end">
          <a href="../docs/">Docs</a>
          <button className="plain" aria-label="Keys" onClick={() => setOpen("keys")}>
            <span className="top-word">Keys </span>
            <kbd>?</kbd>
          </button>
          <UserMenu />
        </div>
      </header>
      <Outlet missing={NoPage} />
      {open === "keys" && <KeysSheet onClose={close} />}
      {open === "palette" && <Palette onClose={close} />}
      {status === "ended" && <LogInAgain />}
    </div>
  );
}
