/** A client for Trackside, the control plane for teams of AI agents. */

import { Routes } from './generated.js';

export * from './generated.js';
export { type CallOptions, each, type Json, Refused, type Setup, Unreachable } from './transport.js';

/** A client of one server with one token. */
export class Trackside extends Routes {}
