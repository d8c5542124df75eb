import numpy as np
import pandas as pd

import breakeven as be


def distance_km(rows: pd.DataFrame) -> pd.Series:
    north = rows["lat"] - 52.5
    east = (rows["lon"] - 13.4) * np.cos(np.radians(rows["lat"]))
    return pd.Series(np.hypot(north, east) * 111.2)


random = np.random.default_rng(1)
lat, lon = random.uniform(40, 60, 200_000), random.uniform(0, 30, 200_000)
places = pd.DataFrame({"lat": lat, "lon": lon})
for _ in range(8):
    result = be.run(places, distance_km, batched=True)
    print(f"{result.execution_time * 1e3:.1f} ms, threads: {result.workers}")
    places["km"] = result.outputs
print(places.head(3))
