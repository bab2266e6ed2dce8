/** A client for Trackside, the control plane for teams of AI agents. */

import { Routes } from './generated.js';

export * from './generated.js';
export { type CallOptions, each, type Json, Refused, type Setup, Unreachable } from './transport.js';

/** A server, as whoever the token belongs to. */
export class Trackside extends Routes {}
