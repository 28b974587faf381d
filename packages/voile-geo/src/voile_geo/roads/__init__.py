"""Roads: maps read from files, the nearest road, the shortest way, and how dense roads are.

    roads = read_roads("city.osm.pbf")
    near = NearestRoads(roads).of(latitude, longitude)
    ways = Ways(roads)

Needs the libraries of ``pip install 'voile-geo[roads]'``.
"""
