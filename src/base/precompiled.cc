// Exists so that src/base/precompiled.h is compiled once for all libraries.
