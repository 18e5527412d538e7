# Simon Willison's llm, with a model of its file for servers of this API.
cat > "$LLM_USER_PATH/extra-openai-models.yaml" <<END
- model_id: ingot
  model_name: gpt-4o
  api_base: $OPENAI_BASE_URL
END
python -m llm -m ingot 'Ten fun names for a pet pelican'
python -m llm -m ingot --no-stream -s 'Be brief' 'Explain this code'
python -m llm -c 'Do you know any others?'
