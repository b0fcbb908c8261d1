"""Recognising the language of a prompt. The sample prompts were written for these tests."""

from __future__ import annotations

import pytest

from sandbox.languages import recognise
from sandbox.prose import library
from sandbox.scenario import LANGUAGES

PROMPTS = {
    "en": [
        "Please describe how the old watchmaker opens his shop in the morning and what you find on the table.",
        "You are a ferryman. Tell me in your own words why you never cross the river after dark.",
    ],
    "es": [
        "Describe cómo el viejo relojero abre su tienda por la mañana y qué encuentras sobre la mesa.",
        "Eres un barquero. Cuéntame con tus propias palabras por qué nunca cruzas el río de noche.",
    ],
    "pt": [
        "Descreva como o velho relojoeiro abre a sua loja de manhã e o que você encontra em cima da mesa.",
        "Você é um barqueiro. Conte com as suas próprias palavras por que nunca atravessa o rio à noite.",
    ],
    "fr": [
        "Décris comment le vieil horloger ouvre sa boutique le matin et ce que tu trouves sur la table.",
        "Tu es un passeur. Raconte-moi avec tes propres mots pourquoi tu ne traverses jamais le fleuve la nuit.",
    ],
    "de": [
        "Beschreibe, wie der alte Uhrmacher morgens seinen Laden öffnet und was du auf dem Tisch findest.",
        "Du bist ein Fährmann. Erzähle mir mit eigenen Worten, warum du den Fluss nie bei Nacht überquerst.",
    ],
    "it": [
        "Descrivi come il vecchio orologiaio apre la sua bottega al mattino e che cosa trovi sul tavolo.",
        "Sei un traghettatore. Raccontami con parole tue perché non attraversi mai il fiume di notte.",
    ],
    "nl": [
        "Beschrijf hoe de oude klokkenmaker 's morgens zijn winkel opent en wat je op de tafel vindt.",
        "Je bent een veerman. Vertel me in je eigen woorden waarom je de rivier nooit bij nacht oversteekt.",
    ],
    "pl": [
        "Opisz, jak stary zegarmistrz otwiera rano swój sklep i co znajdujesz na stole.",
        "Jesteś przewoźnikiem. Opowiedz mi własnymi słowami, dlaczego nigdy nie przepływasz rzeki nocą.",
    ],
    "ru": [
        "Опиши, как старый часовщик утром открывает свою лавку и что ты находишь на столе.",
        "Ты паромщик. Расскажи мне своими словами, почему ты никогда не переплываешь реку ночью.",
    ],
    "uk": [
        "Опиши, як старий годинникар уранці відчиняє свою крамницю і що ти знаходиш на столі.",
        "Ти поромник. Розкажи мені своїми словами, чому ти ніколи не перепливаєш річку вночі.",
    ],
    "tr": [
        "Yaşlı saatçinin sabah dükkânını nasıl açtığını ve masanın üzerinde ne bulduğunu anlat.",
        "Sen bir kayıkçısın. Geceleri nehri neden hiç geçmediğini bana kendi sözlerinle anlat.",
    ],
    "vi": [
        "Hãy tả người thợ đồng hồ già mở cửa tiệm vào buổi sáng như thế nào và bạn tìm thấy gì trên bàn.",
        "Bạn là người lái đò. Hãy kể bằng lời của mình vì sao bạn không bao giờ qua sông vào ban đêm.",
    ],
    "id": [
        "Ceritakan bagaimana tukang jam tua itu membuka tokonya di pagi hari dan apa yang kamu temukan di atas meja.",
        "Kamu adalah seorang tukang perahu. Jelaskan dengan kata-katamu sendiri mengapa kamu tidak pernah menyeberang.",
    ],
    "th": [
        "ช่วยบรรยายว่าช่างนาฬิกาเฒ่าเปิดร้านตอนเช้าอย่างไร และคุณพบอะไรบนโต๊ะ",
        "คุณเป็นคนแจวเรือ เล่าให้ฟังหน่อยว่าทำไมคุณไม่เคยข้ามแม่น้ำตอนกลางคืน",
    ],
    "ja": [
        "年老いた時計屋が朝どのように店を開け、机の上に何を見つけるのかを描いてください。",
        "あなたは渡し守です。なぜ夜には決して川を渡らないのか、自分の言葉で話してください。",
    ],
    "ko": [
        "늙은 시계공이 아침에 가게 문을 어떻게 여는지, 그리고 탁자 위에서 무엇을 발견하는지 묘사해 주세요.",
        "당신은 뱃사공입니다. 왜 밤에는 절대로 강을 건너지 않는지 당신의 말로 이야기해 주세요.",
    ],
    "zh": [
        "请描写年老的钟表匠早上怎样打开店门，以及你在桌子上发现了什么。",
        "你是一位摆渡人。请用自己的话告诉我，为什么你从来不在夜里过河。",
    ],
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_prompt_is_recognised_in_each_language(language: str) -> None:
    assert [recognise(prompt) for prompt in PROMPTS[language]] == [language] * 2


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_single_sentence_of_a_healthy_answer_is_recognised(language: str) -> None:
    sentences = [sentence for scene in library()[language].scenes for sentence in scene]
    assert {recognise(sentence) for sentence in sentences} == {language}


@pytest.mark.parametrize(
    ("prompt", "language"),
    [
        ("Write a short paragraph about the harbour in French.", "fr"),
        ("Reply only in Japanese: what does the keeper of the lighthouse think?", "ja"),
        ("Please continue the story and answer in plain German, not in English or in Dutch.", "de"),
        ("The stranger spoke to her in Polish, and she did not understand a word of it.", "en"),
        ("She had a house in Spanish style, and you must tell me about it.", "en"),
    ],
)
def test_an_english_request_for_another_language_names_the_answers_language(
    prompt: str, language: str
) -> None:
    assert recognise(prompt) == language


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("", "en"),
        ("12345 !?", "en"),
        ("😀😀", "en"),
        ("Сова", "ru"),
        ("Їжак", "uk"),
        ("港口的雨下了一整夜 and the keeper waits", "zh"),
        ("Der Wirt heißt Björn und sagt: 你好. Das ist alles, was er auf Chinesisch kann.", "de"),
    ],
    ids=[
        "empty",
        "digits",
        "emoji",
        "one Russian word",
        "one Ukrainian word",
        "a fifth Chinese",
        "a Chinese word",
    ],
)
def test_little_text_still_gets_a_language(text: str, language: str) -> None:
    assert recognise(text) == language


def test_letters_in_pieces_count_like_whole_ones() -> None:
    import unicodedata

    prompt = unicodedata.normalize("NFD", PROMPTS["vi"][0])
    assert recognise(prompt) == "vi"
