import type { Change } from "./change.js";
import { ProjectChanges } from "./project-changes.js";

/** What is written, for those who follow a project; nothing is kept of projects that nobody follows. */
export interface ChangeHub {
  /** To be called when the change can be read, and before it counts as settled. Never waits for a reader. */
  publish(projectId: string, change: Change): void;
  /** Whether changes of the project are of use to anybody. */
  isFollowed(projectId: string): boolean;
  /** Changes may have been written that were not published: readers look for them in the store. */
  forget(): void;
  /** To be called when something is settled. */
  notice(): void;
  /** The changes of a project from now on. To be closed. */
  follow(projectId: string): { changes: ProjectChanges; close: () => void };
}

/** `settled` is the greatest version below every change that is under way, `issued` the greatest that any change has. */
export function changeHub(settled: () => bigint, issued: () => bigint): ChangeHub {
  const followed = new Map<string, { changes: ProjectChanges; readers: number }>();
  return {
    publish: (projectId, change) => followed.get(projectId)?.changes.add(change),
    isFollowed: (projectId) => followed.has(projectId),
    forget() {
      for (const { changes } of followed.values()) changes.forget(issued());
    },
    notice() {
      for (const { changes } of followed.values()) changes.notice();
    },
    follow(projectId) {
      const project = followed.get(projectId) ?? { changes: new ProjectChanges(settled, issued()), readers: 0 };
      followed.set(projectId, project);
      project.readers += 1;
      let isOpen = true;
      return {
        changes: project.changes,
        close() {
          if (!isOpen) return;
          isOpen = false;
          project.readers -= 1;
          if (project.readers > 0) return;
          project.changes.close();
          followed.delete(projectId);
        },
      };
    },
  };
}
