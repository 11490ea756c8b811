/** What feedback on a call is about. */
export const callRef = (projectId: string, callId: string): string => `weave:///${projectId}/call/${callId}`;
