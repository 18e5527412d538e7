# Builds an image with the program alone. docs/deploy.md tells how to run it.
FROM debian:12 AS build
WORKDIR /ingot
COPY . .
RUN bash -c 'source scripts/lib.sh && install_missing "${build_packages[@]}"' \
  && cmake --preset release -DINGOT_TESTS=OFF --log-level=WARNING \
  && cmake --build --preset release --target ingot \
  && strip build/release/ingot

FROM debian:12-slim
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates \
    libcurl4 libpcre2-8-0 libprometheus-cpp-core1.0 libspdlog1.10 libssl3 libstdc++6 libutf8proc2 zlib1g \
  && rm -rf /var/lib/apt/lists/* \
  && useradd --system --create-home --home-dir /var/lib/ingot ingot \
  && install -d -o ingot -m 700 /var/cache/ingot
COPY --from=build /ingot/build/release/ingot /usr/local/bin/
USER ingot
ENV XDG_CACHE_HOME=/var/cache
EXPOSE 8080
ENTRYPOINT ["ingot"]
