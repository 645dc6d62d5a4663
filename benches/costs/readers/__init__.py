"""Programs for the environment that has what reads traces: pandas, HolisticTraceAnalysis, a browser."""
